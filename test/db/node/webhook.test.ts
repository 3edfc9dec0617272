// Webhooks that Node hands over directly are answered as the app answers them, and whatever is unusual is left to the app.
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { loadConfig } from '../../../src/config.ts'
import { type RunningGateway, startNode } from '../../../src/node.ts'
import { loopbackArrival } from '../../doubles/loopback/fixtures.ts'
import { loopbackChannels, loopbackConnections } from '../../doubles/test-gateway.ts'
import { startVendorStub } from '../../doubles/vendor-stub.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const path = '/hooks/loopback-client-id/loopback-client-id'
const token = 'admin-token-of-this-test'
const maxBodyBytes = 4096

describeOnPostgres('a webhook at the Node edge', (adminUrl) => {
  let gateway: RunningGateway
  let cleanUp: (() => Promise<void>)[] = []

  beforeEach(async () => {
    const clone = await takeDatabase(adminUrl)
    const vendor = await startVendorStub()
    const config = loadConfig(
      { PARLEY_PORT: '0', DATABASE_URL: clone.url, PARLEY_ADMIN_TOKEN: token },
      {
        agents: [defineAgent({ slug: 'demo', run: () => 'ok' })],
        connections: loopbackConnections(vendor.origin),
        maxBodyBytes,
      },
      loopbackChannels,
    )
    gateway = await startNode({ config, migrationsFolder, log: quiet })
    cleanUp = [() => gateway.stop(2_000), vendor.close, clone.drop]
  })
  afterEach(async () => {
    for (const step of cleanUp) await step()
  })

  /** What differs from one request to the next is left out. */
  const post = async (to: string, headers: Record<string, string>, body: BodyInit): Promise<object> => {
    const response = await fetch(`${gateway.url}${to}`, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    } as RequestInit)
    const kept = Object.fromEntries(response.headers)
    for (const name of ['date', 'x-parley-trace']) if (name in kept) kept[name] = 'differs'
    const said = (await response.text()).replaceAll(/"trace":"[0-9a-f]+"/g, '"trace":"…"')
    return { status: response.status, headers: kept, body: said }
  }
  const received = async (): Promise<number> => {
    const answer = await fetch(`${gateway.url}/admin/stats`, { headers: { authorization: `Bearer ${token}` } })
    const { stats } = (await answer.json()) as { readonly stats: readonly { readonly received: number }[] }
    return stats.reduce((sum, line) => sum + line.received, 0)
  }

  // A query is ignored by the app's router and unknown to the short way: it leads the same request through the app.
  test.each([
    ['is accepted', {}, undefined, 200],
    ['that is signed wrongly is turned away', { 'x-loopback-signature': `sha256=${'0'.repeat(64)}` }, undefined, 401],
    ['without a signature is turned away', { 'x-loopback-signature': '' }, undefined, 401],
    ['with less than its signature covers is turned away', {}, '{}', 401],
    ['with nothing in it is turned away', {}, '', 401],
    ['that is too large is refused', {}, 'x'.repeat(maxBodyBytes + 1), 413],
  ] as const)('%s, by either way alike', async (_, changes, body, status) => {
    const answers = []
    for (const to of [path, `${path}?by=app`]) {
      const { bytes, headers } = await loopbackArrival({ id: to, from: 'ada', text: 'hello', conversation: 'c1' })
      answers.push(await post(to, { ...headers, ...changes }, body ?? Buffer.from(bytes)))
    }
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]).toMatchObject({ status })
  })

  test('is stored once, whichever way its copies take', async () => {
    const { bytes, headers } = await loopbackArrival({ id: 'm1', from: 'ada', text: 'hello', conversation: 'c1' })
    const answers = [
      await post(path, headers, Buffer.from(bytes)),
      await post(`${path}?x`, headers, Buffer.from(bytes)),
    ]
    expect(answers).toMatchObject([
      { body: expect.stringContaining('accepted') },
      { body: expect.stringContaining('duplicate') },
    ])
    expect(await received()).toBe(1)
  })

  test('without a declared length, and one for nobody, are answered by the app', async () => {
    const { bytes, headers } = await loopbackArrival({ id: 'm1', from: 'ada', text: 'hello', conversation: 'c1' })
    const stream = new Blob([Buffer.from(bytes)]).stream()
    expect(await post(path, headers, stream)).toMatchObject({ status: 200, body: expect.stringContaining('accepted') })
    expect(await post(`${path}-not`, headers, Buffer.from(bytes))).toMatchObject({ status: 404 })
    expect((await fetch(`${gateway.url}${path}`)).status).toBe(404)
  })

  test('that is broken off is not taken, and the next one is', async () => {
    const { bytes, headers } = await loopbackArrival({ id: 'm1', from: 'ada', text: 'hello', conversation: 'c1' })
    await breakOff(new URL(gateway.url), [
      `POST ${path} HTTP/1.1`,
      'host: 127.0.0.1',
      `content-length: ${bytes.length}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      `\r\n${Buffer.from(bytes).subarray(0, 20)}`,
    ])
    expect(await received()).toBe(0)
    expect(await post(path, headers, Buffer.from(bytes))).toMatchObject({ status: 200 })
    expect(await received()).toBe(1)
  })
})

function breakOff({ hostname, port }: URL, lines: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(lines.join('\r\n'), () => setTimeout(() => socket.destroy(), 50))
    })
    socket.on('error', reject)
    socket.on('close', () => resolve())
  })
}
