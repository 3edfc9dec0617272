// Where an access decision is made, for tests: the test agent on the test connection, nothing stored, the moment of `aMessage`.
import { nothingStored } from '../../src/contract/index.ts'
import type { AccessScene } from '../../src/identity/access/access-policy.ts'

export function accessScene(changes: Partial<AccessScene> = {}): AccessScene {
  return {
    connection: 'test/main',
    agent: 'demo',
    rule: { mode: 'allow_list', allow: [] },
    own: undefined,
    recipient: '@demo@parley.localhost',
    receivedAt: '2026-11-16T12:00:00.000Z',
    stored: nothingStored,
    ...changes,
  }
}
