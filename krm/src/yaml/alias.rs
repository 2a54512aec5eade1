//! Finds what an alias stands for.

use super::tree::{Kind, NodeId, Tree};

impl Tree {
    /// The node that carries the anchor of this alias: the last one above it, as YAML wants it. `None` for a node that
    /// is no alias, and for an alias without an anchor.
    pub fn alias_target(&self, alias: NodeId) -> Option<NodeId> {
        if self.kind(alias) != Kind::Alias {
            return None;
        }
        let name = self.text(alias);
        let above = self.props.range(..alias.0).rev();
        let target = above.into_iter().find(|(_, props)| props.anchor.as_deref() == Some(name));
        target.map(|(id, _)| NodeId(*id))
    }
}
