// The door beside a request for adapters whose answers take nothing in.
import type { ServeContext } from '../contract/index.ts'

export const idleDoor: ServeContext = {
  from: 'local',
  receivedAt: '2026-11-17T12:00:00.000Z',
  accept: () => Promise.reject(new Error('nothing was to be taken in')),
  receive: async () => ({ kind: 'rejected', reason: 'missing_credential', trace: 'trace' }),
  logRejection: () => 'trace',
  fail: () => 'trace',
  keepOpen: () => {},
}
