// What an operator may ask of this channel as it runs, by name. Each looks and decides; the gateway commits what it changes.
import type { Operations } from '../../../src/contract/index.ts'
import type { OperateDeps } from './deps.ts'
import { followerOperations } from './followers.ts'
import { keyOperations } from './keys.ts'
import { reportOperations } from './reports.ts'
import { requestOperations } from './requests.ts'

export function createOperations(deps: OperateDeps): Operations {
  return {
    ...requestOperations(deps),
    ...followerOperations(deps),
    ...reportOperations(deps),
    ...keyOperations(deps),
  }
}
