// The operator's operations of this channel, by name. Each reads and decides; the gateway commits what it changes.
import type { Operations } from '../../../src/contract/index.ts'
import { type BlockDeps, blockOperations } from './blocks.ts'
import { followerOperations, requestOperations } from './followers.ts'
import { keyOperations } from './keys.ts'
import type { OperateDeps, PostDeps } from './operation-input.ts'
import { postOperations } from './posts.ts'
import { reportOperations } from './reports.ts'

export function createOperations(deps: OperateDeps & PostDeps & BlockDeps): Operations {
  return {
    ...requestOperations(deps),
    ...followerOperations(deps),
    ...reportOperations(deps),
    ...keyOperations(deps),
    ...postOperations(deps),
    ...blockOperations(deps),
  }
}
