// A vendor that takes calls and never answers: its connection waits for it, the others do not.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const [silent, other] = ['loopback-client-id', 'loopback-lookup']

describeOnDatabase('sends that hang', (database) => {
  let vendor: VendorStub
  let calls: number
  const hanging = createServer(() => {
    calls += 1
  })
  const end = new AbortController()
  let gateway: TestGateway

  beforeEach(async () => {
    calls = 0
    vendor = await startVendorStub()
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve))
    const { port } = hanging.address() as AddressInfo
    const slow = loopbackConnections(`http://127.0.0.1:${port}`, { settings: { callTimeoutMs: 10_000 } })
    const quick = loopbackConnections(vendor.origin)
    gateway = createTestGateway(database(), {
      connections: quick.map((each) => (each.id === silent ? (slow.find(({ id }) => id === silent) ?? each) : each)),
    })
    gateway.gateway.drain({ deadline: end.signal }).catch(() => {})
  })
  afterEach(async () => {
    end.abort()
    gateway.stop()
    hanging.closeAllConnections()
    hanging.close()
    await vendor.close()
  })

  test('leave an eighth of the slots to other connections, whose people are answered within two seconds', async () => {
    const lines = Array.from({ length: 40 }, (_, number) => `h${number}`)
    for (const id of lines) await gateway.deliver({ id, from: 'ada', text: id, conversation: id }, silent)
    await until(() => calls >= 28)
    const asked = performance.now()
    await gateway.deliver({ id: 'q', from: 'bob', text: 'are you there?', conversation: 'q' }, other)
    await until(() => vendor.messages.length === 1, 10_000)
    expect(performance.now() - asked).toBeLessThan(2_000)
    expect(calls).toBe(28)
  })
})
