// Where an access decision is made, for tests: the test agent on the test connection, nothing stored, the moment of `aMessage`.
import { noStoredAccess } from '../../src/contract/access.ts'
import type { AccessContext } from '../../src/identity/access-policy.ts'

export function accessScene(changes: Partial<AccessContext> = {}): AccessContext {
  return {
    connection: 'test/main',
    agent: 'demo',
    rule: { mode: 'allow_list', allow: [] },
    own: undefined,
    recipient: '@demo@parley.localhost',
    receivedAt: '2026-11-16T12:00:00.000Z',
    stored: noStoredAccess,
    ...changes,
  }
}
