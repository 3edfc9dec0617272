// The committer of runtimes whose requests share nothing: every inbound event is a commit of its own.

import type { InboxStore } from '../db/inbox.ts'
import type { Committer } from './group-commit.ts'

export function createSingleCommit(store: InboxStore): Committer {
  return {
    isAnswered: () => true,
    commit: async (drafts) => (drafts.length === 0 ? [] : store.accept(drafts)),
  }
}
