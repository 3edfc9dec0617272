// The committer of runtimes whose requests share nothing: every row is a commit of its own.
import type { Committer } from './group-commit.ts'
import type { InboxStore } from './inbox-store.ts'

export function createSingleCommit(store: InboxStore): Committer {
  return {
    isAnswered: () => true,
    async commit(draft) {
      const [outcome] = await store.accept([draft])
      return outcome ?? { kind: 'again' }
    },
  }
}
