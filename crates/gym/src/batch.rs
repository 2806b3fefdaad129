//! Many episodes at once.

use crate::episode::Episode;
use crate::setup::Setup;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::sync::Arc;

/// Episodes that are stepped together; each is the same as alone, on any number of threads.
pub struct Batch {
    episodes: Vec<Episode>,
    width: usize,
    pool: Option<ThreadPool>,
}

/// Outcomes of a step, by episode.
pub struct Outcomes<'a> {
    /// The observations, one after the other.
    pub observations: &'a mut [f32],
    /// The reward of the step.
    pub rewards: &'a mut [f64],
    /// Whether it was the last one.
    pub over: &'a mut [bool],
}

impl Batch {
    /// Places for `count` episodes, stepped on `threads`.
    pub fn new(setup: Setup, count: usize, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let (setup, width) = (Arc::new(setup.clone()), setup.spec.len());
        let episodes = (0..count).map(|_| Episode::new(Arc::clone(&setup))).collect();
        let pool = (threads > 1 && count > 1).then(|| ThreadPoolBuilder::new().num_threads(threads.min(count)).build());
        Ok(Self { episodes, width, pool: pool.transpose()? })
    }

    /// One of them.
    pub fn episode(&mut self, i: usize) -> &mut Episode {
        &mut self.episodes[i]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.episodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.episodes.is_empty()
    }

    /// Numbers of an observation.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Steps the episodes that `going` names by their action and writes the outcome of each.
    pub fn step(&mut self, actions: &[f64], going: &[bool], outcomes: Outcomes<'_>) {
        let Outcomes { observations: seen, rewards: worth, over } = outcomes;
        let step = |(episode, seen, worth, over, action, going): Slot<'_>| {
            if going {
                (*worth, *over) = episode.step(action);
                episode.observe(seen);
            }
        };
        let Self { episodes, width, pool } = self;
        match pool {
            None => {
                let seen = seen.chunks_exact_mut(*width);
                let all = episodes.iter_mut().zip(seen).zip(worth).zip(over).zip(actions).zip(going);
                all.map(slot).for_each(step);
            }
            Some(pool) => pool.install(|| {
                let seen = seen.par_chunks_exact_mut(*width);
                let all = episodes.par_iter_mut().zip(seen).zip(worth).zip(over).zip(actions).zip(going);
                all.map(slot).for_each(step);
            }),
        }
    }

    /// Runs what lies before the first step of those that `begins` names, and writes their observations.
    pub fn warm_up(&mut self, begins: &[bool], seen: &mut [f32]) {
        let begin = |((episode, seen), begins): ((&mut Episode, &mut [f32]), &bool)| {
            if *begins {
                while !episode.warm_up() {}
                episode.observe(seen);
            }
        };
        let Self { episodes, width, pool } = self;
        match pool {
            None => episodes.iter_mut().zip(seen.chunks_exact_mut(*width)).zip(begins).for_each(begin),
            Some(pool) => pool.install(|| {
                episodes.par_iter_mut().zip(seen.par_chunks_exact_mut(*width)).zip(begins).for_each(begin);
            }),
        }
    }
}

type Slot<'a> = (&'a mut Episode, &'a mut [f32], &'a mut f64, &'a mut bool, f64, bool);
type ZippedSlot<'a> = (((((&'a mut Episode, &'a mut [f32]), &'a mut f64), &'a mut bool), &'a f64), &'a bool);

fn slot<'a>((((((episode, seen), worth), over), action), going): ZippedSlot<'a>) -> Slot<'a> {
    (episode, seen, worth, over, *action, *going)
}
