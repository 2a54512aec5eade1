//! What goes wrong, and that it ends.

use std::time::Duration;

use super::node::Node;
use super::world::{What, World};

impl World {
    /// Something goes wrong.
    pub(super) fn strike(&mut self) {
        if !self.busy {
            return;
        }
        let again = self.around(Duration::from_mins(6));
        self.at(again, What::Fault);
        let index = self.random.usize(..self.nodes.len());
        match self.random.u32(..100) {
            0..35 => self.crash(index),
            35..75 => {
                if !self.nodes[index].cut {
                    self.summary.cuts += 1;
                    self.nodes[index].cut = true;
                    let time = self.around(Duration::from_secs(30));
                    self.at(time, What::Heal(index));
                }
            }
            75..80 => {
                if !self.outage {
                    self.summary.outages += 1;
                    self.outage = true;
                    let time = self.around(Duration::from_mins(2)).min(Duration::from_mins(10));
                    self.at(time, What::OutageEnds);
                }
            }
            80..85 => {
                self.truth.forget_registrations();
                self.forgot = self.now;
            }
            _ => {
                self.configuration += 1;
                let configuration = self.configuration;
                self.each(|node, now| node.configured(configuration, now));
            }
        }
    }

    fn crash(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        if !node.up {
            return;
        }
        self.summary.crashes += 1;
        node.up = false;
        node.life += 1;
        self.count(index);
        let time = self.around(Duration::from_secs(30));
        self.at(time, What::Return(index));
    }

    /// Adds up what a life has counted.
    pub(super) fn count(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        self.summary.superseded += node.core.counters().superseded;
        for (reason, times) in std::mem::take(&mut node.told) {
            *self.summary.told.entry(reason).or_default() += times;
        }
    }

    /// It can reach the store again. Its watch may have noticed, or not.
    pub(super) fn heal(&mut self, index: usize) {
        if !std::mem::take(&mut self.nodes[index].cut) {
            return;
        }
        if self.chance(0.5) {
            let to = self.address(index);
            self.with(to, Node::relist);
        }
    }

    /// From now on clients and faults rest.
    pub(super) fn all_is_well(&mut self) {
        self.busy = false;
        self.outage = false;
        for index in 0..self.nodes.len() {
            self.heal(index);
        }
        // Everything that a package may need is there.
        self.configuration += 1_000;
        let configuration = self.configuration;
        self.each(|node, now| node.configured(configuration, now));
    }
}
