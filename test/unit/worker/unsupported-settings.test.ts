// What needs a process that stays is refused on Workers by the name of its connection, before anything is asked of the database.
import { expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { loadConfig } from '../../../src/config.ts'
import type { Adapter, Ingress } from '../../../src/contract/index.ts'
import { createIssuerCache } from '../../../src/identity/issuers/issuer-client.ts'
import { openInvocation } from '../../../src/worker/invocation.ts'
import { judgedChannel } from '../../doubles/loopback/judged.ts'
import { loopbackConnections } from '../../doubles/test-gateway.ts'

const verbs: readonly (readonly [keyof Ingress, string])[] = [
  ['poll', 'pulls its messages'],
  ['listen', 'listens on a port of its own'],
]

test.each(verbs)('a connection with %s, since it %s', (verb, words) => {
  const staying = (): Partial<Adapter> => ({ ingress: { [verb]: () => expect.unreachable() } })
  const [connection] = loopbackConnections('http://127.0.0.1:9')
  const config = loadConfig(
    {},
    { agents: [defineAgent({ slug: 'demo', run: () => 'yes' })], connections: connection ? [connection] : [] },
    [judgedChannel({ adapter: staying })],
  )
  const silent = { info() {}, warn() {}, error() {} }
  const options = {
    connectionString: 'postgres://127.0.0.1:9/none',
    maxConnections: 1,
    log: silent,
    files: undefined,
    mailer: undefined,
    issuerMemory: createIssuerCache(),
  }
  expect(() => openInvocation(config, options)).toThrow(
    `[loopback-client-id] connection "loopback-client-id" ${words}, which needs a process that stays; run it on Node`,
  )
})
