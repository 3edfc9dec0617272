// The HTTP surface of a test gateway, asked without a server.

import { createApiCallers } from '../../src/api/api-callers.ts'
import { createApp } from '../../src/api/app.ts'
import type { AppDeps } from '../../src/api/deps.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import { secret } from '../../src/contract/index.ts'
import { createCallerAccess } from '../../src/db/caller-access.ts'
import type { Database } from '../../src/db/client.ts'
import { createEraseStore } from '../../src/db/erase-person.ts'
import { createExplainStore } from '../../src/db/explain.ts'
import { createDeliveryStore } from '../../src/db/receipts.ts'
import { createReplayStore } from '../../src/db/replay.ts'
import { createSessionReader } from '../../src/db/session-reader.ts'
import { createSessionStore } from '../../src/db/sessions.ts'
import { createThreadStore } from '../../src/db/threads.ts'
import { createTokenStore } from '../../src/db/tokens.ts'
import { createRejections } from '../../src/identity/rejected-requests.ts'
import { newTraceId } from '../../src/inbound/request-context.ts'
import { createSessionTakeover } from '../../src/turns/operator-takeover.ts'
import { replay } from '../../src/turns/replay.ts'
import type { TestGateway } from './test-gateway.ts'

export const operatorToken = 'first-token-of-the-test-000000'

export function createTestApp(
  gateway: TestGateway,
  database: Database,
  changes: Partial<AppDeps> = {},
): ReturnType<typeof createApp> {
  const sessions = createSessionStore(database, gateway.deps.tenant)
  const rejections = createRejections()
  return createApp({
    gateway: gateway.gateway,
    agents: [],
    receipts: gateway.deps.receipts,
    deliveries: createDeliveryStore(database, gateway.deps.tenant),
    sessions,
    desk: createSessionTakeover(gateway.deps, { sessions, desk: createSessionReader(database, gateway.deps.tenant) }),
    tokens: createTokenStore(database, gateway.deps.tenant),
    audit: gateway.deps.audit,
    rejections,
    meter: gateway.deps.meter,
    newTrace: () => newTraceId(gateway.deps),
    forget: createEraseStore(database, gateway.deps.tenant),
    replay: (id, wanted) => replay(gateway.deps, createReplayStore(database, gateway.deps.tenant), id, wanted),
    wake: gateway.wake,
    files: gateway.files,
    callers: createApiCallers({ ...gateway.deps, readAccess: createCallerAccess(database, gateway.deps.tenant) }),
    threads: createThreadStore(database, gateway.deps.tenant),
    tokenIssuers: gateway.config.tokenIssuers,
    publicUrl: gateway.config.publicUrl,
    adminToken: secret(operatorToken),
    explain: (id, connection) =>
      explainById(
        { store: createExplainStore(database, gateway.deps.tenant), agents: ['demo'], rejections },
        id,
        connection,
      ),
    readReadiness: () => Promise.reject(new Error('not asked here')),
    metrics: { access: 'off', readHealthSamples: async () => [] },
    sourceOf: () => 'local',
    now: Date.now,
    maxBodyBytes: 65_536,
    watchMs: 1_000,
    log: gateway.deps.log,
    ...changes,
  })
}
