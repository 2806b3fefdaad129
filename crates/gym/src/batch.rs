//! Many episodes at once.

use crate::episode::Episode;
use crate::setup::Setup;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::sync::Arc;

/// Episodes stepped together. Each gives the same results as if run alone, on any number of threads.
pub struct Batch {
    episodes: Vec<Episode>,
    width: usize,
    pool: Option<ThreadPool>,
}

/// Output buffers of a step, indexed by episode.
pub struct Outcomes<'a> {
    /// Observations, concatenated.
    pub observations: &'a mut [f32],
    /// Rewards of the step.
    pub rewards: &'a mut [f64],
    /// Whether the step was the episode's last.
    pub over: &'a mut [bool],
}

impl Batch {
    /// Creates `count` episodes, stepped on `threads` threads.
    pub fn new(setup: Setup, count: usize, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let (setup, width) = (Arc::new(setup.clone()), setup.spec.len());
        let episodes = (0..count).map(|_| Episode::new(Arc::clone(&setup))).collect();
        let pool = (threads > 1 && count > 1).then(|| ThreadPoolBuilder::new().num_threads(threads.min(count)).build());
        Ok(Self { episodes, width, pool: pool.transpose()? })
    }

    /// The `i`-th episode.
    pub fn episode(&mut self, i: usize) -> &mut Episode {
        &mut self.episodes[i]
    }

    /// Number of episodes.
    pub fn len(&self) -> usize {
        self.episodes.len()
    }

    /// Whether the batch has no episodes.
    pub fn is_empty(&self) -> bool {
        self.episodes.is_empty()
    }

    /// Length of an observation.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Steps each episode whose `going` entry is set with its action, and writes its outcome.
    pub fn step(&mut self, actions: &[f64], going: &[bool], outcomes: Outcomes<'_>) {
        let Outcomes { observations, rewards, over } = outcomes;
        let step = |(episode, observation, reward, over, action, going): Slot<'_>| {
            if going {
                (*reward, *over) = episode.step(action);
                episode.observe(observation);
            }
        };
        let Self { episodes, width, pool } = self;
        match pool {
            None => {
                let observations = observations.chunks_exact_mut(*width);
                let all = episodes.iter_mut().zip(observations).zip(rewards).zip(over).zip(actions).zip(going);
                all.map(slot).for_each(step);
            }
            Some(pool) => pool.install(|| {
                let observations = observations.par_chunks_exact_mut(*width);
                let all = episodes.par_iter_mut().zip(observations).zip(rewards).zip(over).zip(actions).zip(going);
                all.map(slot).for_each(step);
            }),
        }
    }

    /// Runs the warm-up of each episode whose `begins` entry is set, and writes its first observation.
    pub fn warm_up(&mut self, begins: &[bool], observations: &mut [f32]) {
        let begin = |((episode, observation), begins): ((&mut Episode, &mut [f32]), &bool)| {
            if *begins {
                while !episode.warm_up() {}
                episode.observe(observation);
            }
        };
        let Self { episodes, width, pool } = self;
        match pool {
            None => episodes.iter_mut().zip(observations.chunks_exact_mut(*width)).zip(begins).for_each(begin),
            Some(pool) => pool.install(|| {
                episodes.par_iter_mut().zip(observations.par_chunks_exact_mut(*width)).zip(begins).for_each(begin);
            }),
        }
    }
}

type Slot<'a> = (&'a mut Episode, &'a mut [f32], &'a mut f64, &'a mut bool, f64, bool);
type ZippedSlot<'a> = (((((&'a mut Episode, &'a mut [f32]), &'a mut f64), &'a mut bool), &'a f64), &'a bool);

fn slot<'a>((((((episode, observation), reward), over), action), going): ZippedSlot<'a>) -> Slot<'a> {
    (episode, observation, reward, over, *action, *going)
}
