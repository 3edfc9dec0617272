// The operator's operations of this channel, by name. Each reads and decides; the gateway commits what it changes.
import type { Operations } from '../../../src/contract/index.ts'
import type { BlockDeps } from './add-blocks.ts'
import { blockOperations } from './blocks.ts'
import type { OperateDeps, PostDeps } from './deps.ts'
import { followerOperations } from './followers.ts'
import { keyOperations } from './keys.ts'
import { postOperations } from './posts.ts'
import { reportOperations } from './reports.ts'
import { requestOperations } from './requests.ts'

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
