//! Parameters of a control by name, without the type that holds them.

use sojourn_aqm::params::{Config, ConfigError, Param, Value, unknown};

/// Values of parameters as text, by name.
type Texts = [(String, String)];
/// Values by name.
type Values = Vec<(&'static str, Value)>;

/// The parameters of a control `C`.
#[derive(Clone, Copy, Debug)]
pub struct Params<C> {
    /// Descriptions, in the order of the docs page.
    pub list: &'static [Param],
    /// Default of a parameter in [`Self::list`].
    pub default: fn(&str) -> Option<Value>,
    control: fn(&Texts) -> Result<C, ConfigError>,
    changed: fn(&Texts) -> Result<Values, ConfigError>,
}

impl<C> Params<C> {
    /// The parameters that the fields of `P` hold.
    pub const fn of<P: Config>() -> Self
    where
        C: From<P>,
    {
        Self {
            list: P::PARAMS,
            default: |name| P::default().value(name),
            control: |params| config::<P>(params).map(C::from),
            changed: |params| config::<P>(params).map(|config| changed(&config)),
        }
    }

    /// The control in its initial state, with `params` set by name.
    pub(super) fn control(&self, params: &Texts) -> Result<C, ConfigError> {
        (self.control)(params)
    }

    /// The parameters of `params` whose values differ from their defaults, in the order of [`Self::list`].
    pub(super) fn changed(&self, params: &Texts) -> Result<Values, ConfigError> {
        (self.changed)(params)
    }
}

impl<C: Default> Params<C> {
    /// A control without parameters.
    pub const NONE: Self = Self {
        list: &[],
        default: |_| None,
        control: |params| no_params(params).map(|()| C::default()),
        changed: |params| no_params(params).map(|()| Vec::new()),
    };
}

fn config<P: Config>(params: &Texts) -> Result<P, ConfigError> {
    let mut config = P::default();
    for (name, text) in params {
        config.set(name, text)?;
    }
    config.validate()?;
    Ok(config)
}

fn changed<P: Config>(config: &P) -> Values {
    let plain = P::default();
    let values = P::PARAMS.iter().filter_map(|param| Some((param.name, config.value(param.name)?)));
    values.filter(|&(name, value)| plain.value(name) != Some(value)).collect()
}

fn no_params(params: &Texts) -> Result<(), ConfigError> {
    match params.first() {
        Some((name, _)) => Err(ConfigError::Unknown(unknown("parameter", name, std::iter::empty()))),
        None => Ok(()),
    }
}

/// Upper limit of the parameters that are an `int` of the kernel.
pub(super) const INT_MAX: Value = Value::Count(i32::MAX as u64);

#[cfg(test)]
mod tests {
    use super::super::{Ack, AnyCc, DESCRIPTIONS, Description, GrowthCounting, Window, WindowEvent, call_table};
    use super::*;
    use crate::rate_sample::RateSample;
    use crate::stack::Stack;
    use crate::state::CaState;
    use sojourn_aqm::{Duration, Instant};

    fn given(params: &[(&str, &str)]) -> Vec<(String, String)> {
        params.iter().map(|&(name, text)| (name.into(), text.into())).collect()
    }

    fn spelled(name: &str, params: &[(&str, &str)]) -> String {
        match AnyCc::spelling(name, &given(params)) {
            Ok(text) => text,
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn the_shortest_text_has_the_canonical_name_and_what_differs_from_the_defaults() {
        for (name, params, expected) in [
            ("ledbat", &[("gain", "10"), ("target", "5 ms")][..], "ledbat target 5ms gain 10"),
            ("ledbat", &[("target", "0.1 s"), ("gain", "1.0")], "ledbat"),
            ("vegas", &[("beta", "4"), ("alpha", "3")], "vegas alpha 3"),
            ("dctcp", &[("dctcp_shift_g", "5")], "dctcp@linux dctcp_shift_g 5"),
            ("cubic", &[("hystart", "false"), ("beta", "819")], "cubic beta 819 nohystart"),
            ("cubic@rfc9438", &[("c", "0.5")], "cubic@rfc9438 c 0.5"),
            ("reno", &[], "reno"),
        ] {
            assert_eq!(spelled(name, params), expected);
        }
    }

    #[test]
    fn errors_name_the_parameter_and_the_remedy() {
        for (name, params, expected) in [
            ("vegas", ("alhpa", "3"), "unknown parameter \"alhpa\"; did you mean \"alpha\"?"),
            ("reno", ("alpha", "3"), "unknown parameter \"alpha\"; none is defined"),
            ("dctcp", ("dctcp_shift_g", "11"), "dctcp_shift_g = 11 is out of range; from 0 to 10"),
            ("ledbat", ("target", "5"), "target: \"5\" has no unit; write e.g. \"5 ms\""),
            ("vegas", ("alpha", "-1"), "alpha: \"-1\" is not a whole number"),
            ("cubic", ("hystart", "maybe"), "hystart: \"maybe\" is neither true nor false"),
            ("vegsa", ("alpha", "3"), "unknown congestion control \"vegsa\"; did you mean \"vegas\"?"),
        ] {
            let refused = AnyCc::configured(name, &given(&[params])).unwrap_err().to_string();
            assert_eq!((refused.as_str(), spelled(name, &[params])), (expected, refused.clone()));
        }
    }

    #[test]
    fn a_control_with_every_default_set_is_the_plain_one() {
        for control in DESCRIPTIONS {
            let defaults: Vec<(String, String)> = control
                .params
                .iter()
                .map(|param| (param.name.into(), (control.defaults)(param.name).expect("a default").to_string()))
                .collect();
            assert_eq!(AnyCc::spelling(control.name, &defaults).as_deref(), Ok(control.name));
            let configured = AnyCc::configured(control.name, &defaults).expect("defaults are in range");
            let plain = AnyCc::new(control.name).expect("it is registered");
            assert_eq!(format!("{configured:?}"), format!("{plain:?}"));
            assert_eq!((control.defaults)("no_such_parameter"), None);
        }
    }

    #[test]
    fn a_stack_keeps_the_parameters() {
        for control in DESCRIPTIONS {
            for (param, text) in bounds(control) {
                let set = AnyCc::configured(control.name, &given(&[(param, &text)])).expect("a bound is in range");
                let mut plain = AnyCc::new(control.name).expect("it is registered");
                let mut attached = set.clone();
                let differed = format!("{set:?}") != format!("{plain:?}");
                for cc in [&mut attached, &mut plain] {
                    cc.attach(Stack::find("linux-6.1").expect("a stack"), true);
                }
                let differs = format!("{attached:?}") != format!("{plain:?}");
                assert_eq!(differs, differed, "{} {param} {text}", control.name);
            }
        }
    }

    #[test]
    fn no_value_in_range_stops_a_connection() {
        for control in DESCRIPTIONS {
            for (param, text) in bounds(control) {
                let mut cc = AnyCc::configured(control.name, &given(&[(param, &text)])).expect("a bound is in range");
                cc.attach(Stack::find("linux-6.1").expect("a stack"), false);
                if cc.needs().steers {
                    steer(&mut cc);
                } else {
                    grow(&mut cc);
                }
            }
        }
    }

    /// The parameters with the minimum and the maximum of each.
    fn bounds(control: &Description) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let text = |param: &'static Param, value: Value| (param.name, value.to_string());
        control.params.iter().flat_map(move |param| [text(param, param.range.0), text(param, param.range.1)])
    }

    /// A window of one segment and more, with losses, time-outs and pauses.
    fn grow(cc: &mut AnyCc) {
        let counting = GrowthCounting::Packets;
        let mut window = Window { cwnd: 10, ssthresh: 1000, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting };
        let mut now = Instant::ZERO + Duration::from_secs(10);
        cc.event(&mut window, WindowEvent::Restarted { now, last_sent: Instant::ZERO });
        for i in 1..2_000 {
            now += Duration::from_millis(1 + i % 7);
            let (una, rtt) = (1448 * i as u64, Duration::from_micros(20_000 + 1_000 * (i % 97)));
            let ack = Ack {
                now,
                packets: 1 + i as u32 % 3,
                rtt: Some(rtt),
                una,
                nxt: una + 1448 * window.cwnd as u64,
                state: CaState::Open,
                one_way: Some(rtt / 2),
                slow_path: false,
            };
            cc.on_ack(&mut window, || ack);
            cc.on_report(&mut window, &ack);
            cc.grow(&mut window, || ack);
            match i % 500 {
                150 | 170 => {
                    window.ssthresh = cc.ssthresh(&window);
                    cc.state_changed(&mut window, CaState::Recovery, now, ack.nxt);
                    window.cwnd = window.ssthresh;
                    cc.event(&mut window, WindowEvent::Reduced);
                    cc.state_changed(&mut window, CaState::Open, now, ack.nxt);
                }
                300 => {
                    window.ssthresh = cc.timeout_ssthresh(&window);
                    window.cwnd = 1;
                    cc.state_changed(&mut window, CaState::Loss, now, ack.nxt);
                    cc.event(&mut window, WindowEvent::TimedOut);
                    cc.state_changed(&mut window, CaState::Open, now, ack.nxt);
                }
                400 => cc.event(&mut window, WindowEvent::Restarted { now, last_sent: now - rtt }),
                _ => {}
            }
            assert!(window.cwnd > 0 && window.ssthresh > 0, "{cc:?}: {window:?}");
            // No link holds more.
            window.cwnd = window.cwnd.min(1 << 20);
        }
    }

    /// A few round trips of which every other packet is marked.
    fn steer(cc: &mut AnyCc) {
        let mut window = call_table::window(10);
        let mut flight = call_table::flight(&mut window, 20_000);
        cc.on_established(&mut flight);
        for i in 1..2_000 {
            (flight.una, flight.nxt) = (flight.una + 1448, flight.una + 14_480);
            (flight.now, flight.is_cwnd_limited) = (flight.now + Duration::from_millis(2), true);
            (flight.delivered, flight.delivered_ce) = (flight.delivered + 1, flight.delivered_ce + i % 2);
            let sample = RateSample { acked_sacked: 1, ce: i as u32 % 2, ..RateSample::default() };
            cc.steer(&mut flight, &sample);
            if i % 50 == 0 {
                cc.ssthresh(flight.window);
                cc.on_state(&mut flight, if i % 100 == 0 { CaState::Cwr } else { CaState::Recovery });
                cc.on_state(&mut flight, CaState::Open);
            }
        }
    }
}
