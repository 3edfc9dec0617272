// An agent with two models, of which the first is away.

import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import { findRuns, listRuns } from '../../src/db/runs.ts'
import { createRejectionLog } from '../../src/identity/rejected-requests.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

describeOnDatabase('an agent with two models', (database) => {
  let vendor: VendorStub
  let [first, second]: ScriptedModelServer[] = []
  let gateway: TestGateway
  beforeEach(async () => {
    vendor = await startVendorStub()
    first = await startScriptedModel()
    second = await startScriptedModel()
  })
  afterEach(async () => {
    gateway.stop()
    await Promise.all([vendor.close(), first?.close(), second?.close()])
  })

  test('is answered for by the second, also after a crash in the middle, and it can be read which one it was', async () => {
    let acted = 0
    let isBroken = true
    const act = defineTool({
      name: 'demo/act',
      description: 'Acts.',
      parameters: z.object({}),
      execute: () => {
        acted += 1
        return 'done'
      },
    })
    const modelAt = (server: ScriptedModelServer | undefined, model: string) =>
      openAiCompatible({ baseUrl: server?.baseUrl ?? '', model })
    gateway = createTestGateway(database(), {
      agents: [
        defineAgent({
          slug: 'demo',
          model: [modelAt(first, 'large'), modelAt(second, 'small')],
          modelRetries: { attempts: 2, baseMs: 1 },
          tools: [act],
          shouldContinue: () => {
            if (!isBroken) return true
            isBroken = false
            throw Object.assign(new Error('gone'), { name: 'GatewayError', code: 'storage_unavailable' })
          },
        }),
      ],
      connections: loopbackConnections(vendor.origin),
    })
    first?.script({ status: 503 })
    second?.script({ calls: [{ id: 'a', name: 'demo__act', arguments: '{}' }] }, { text: 'It is done.' })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'do it' })
    await settleUntil(gateway, () => vendor.messages.length > 0, 30_000)
    expect(vendor.messages.map((message) => message.text)).toEqual(['It is done.'])
    expect([acted, first?.requests.length, second?.requests.length]).toEqual([1, 2, 2])
    const by = 'openai-compatible.chat/small'
    const [line] = await listRuns(gateway.gateway.db, { limit: 1, before: null, status: null })
    const [run] = await findRuns(gateway.gateway.db, line?.id ?? '')
    expect(JSON.stringify(run?.summary)).toContain(`"answered_by":"${by}"`)
    const switched = gateway.logged.filter(({ event }) => event === 'model_switched')
    expect(switched).toMatchObject([
      {
        level: 'warn',
        facts: { agent: 'demo', from: 'openai-compatible.chat/large', to: by, reason: 'provider_error' },
      },
    ])
    const store = openTenantDb(database(), 'default')
    const told = await explainById({ db: store, agents: ['demo'], rejections: createRejectionLog() }, 'm1', undefined)
    expect(JSON.stringify(told)).toContain(`answered by ${by}`)
  })
})
