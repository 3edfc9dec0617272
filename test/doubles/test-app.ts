// The HTTP surface of a test gateway, asked without a server.

import { createCallerIdentification } from '../../src/api/api-callers.ts'
import { createApp } from '../../src/api/app.ts'
import type { AppDeps } from '../../src/api/deps.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import type { Database } from '../../src/db/client.ts'
import { createEraseStore } from '../../src/db/erase-person.ts'
import { createTokenStore } from '../../src/db/tokens.ts'
import { createRejectionLog } from '../../src/identity/rejected-requests.ts'
import { newTraceId } from '../../src/lib/ids.ts'
import { secret } from '../../src/lib/secret.ts'
import { createSessionTakeover } from '../../src/turns/operator-takeover.ts'
import { replay } from '../../src/turns/replay.ts'
import type { TestGateway } from './test-gateway.ts'

export const operatorToken = 'first-token-of-the-test-000000'

export function createTestApp(
  gateway: TestGateway,
  database: Database,
  changes: Partial<AppDeps> = {},
): ReturnType<typeof createApp> {
  const { db } = gateway.deps
  const rejections = createRejectionLog()
  return createApp({
    gateway: gateway.gateway,
    agents: [],
    db,
    takeover: createSessionTakeover(gateway.deps),
    tokens: createTokenStore(database, gateway.deps.tenant),
    rejections,
    meter: gateway.deps.meter,
    newTrace: () => newTraceId(gateway.deps),
    forget: createEraseStore(database, gateway.deps.tenant),
    replay: (id, wanted) => replay(gateway.deps, id, wanted),
    wake: gateway.wake,
    files: gateway.files,
    callers: createCallerIdentification(gateway.deps),
    tokenIssuers: gateway.config.tokenIssuers,
    publicUrl: gateway.config.publicUrl,
    adminToken: secret(operatorToken),
    explain: (id, connection) => explainById({ db, agents: ['demo'], rejections }, id, connection),
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
