// The program as a person starts it, asked by another agent: nothing that was asked for is lost or done twice by kill -9.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aMessage, type Body, type Stream, streamOf } from '../../doubles/a2a-peer.ts'
import { until } from '../../doubles/background-gateway.ts'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'

let dataDir: string
let gateway: ParleyProcess | undefined

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-a2a-'))
})
afterEach(async () => {
  await gateway?.kill()
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
})

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

async function stream(url: string, message: Body, lastEventId?: string): Promise<Stream> {
  const body = JSON.stringify({ message })
  const more = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  return streamOf(
    'HTTP+JSON',
    await fetch(`${url}/a2a/message:stream`, { method: 'POST', headers: { ...headers, ...more }, body }),
  )
}

const words = ({ frames }: Stream): string =>
  frames.map(({ body }) => body.artifactUpdate?.artifact.parts[0].text ?? '').join('')

test('SE-24 a task whose process is killed goes on in the next one, and its stream goes on where it was lost', async () => {
  gateway = await startParley({ dataDir })
  const message = aMessage('/story')
  const first = await stream(gateway.url, message)
  await until(() => words(first).length > 0)
  const { id } = first.frames[0]?.body.task ?? {}
  const last = first.frames.at(-1)?.id ?? ''
  await gateway.kill()
  gateway = await startParley({ dataDir })
  const second = await stream(gateway.url, message, last)
  await second.ended
  expect(second.frames[0]?.body.task.id).toBe(id)
  expect(second.frames.at(-1)?.body.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
  const task = await (await fetch(`${gateway.url}/a2a/tasks/${id}`, { headers })).json()
  expect(task).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{}] })
  const { tasks } = await (await fetch(`${gateway.url}/a2a/tasks`, { headers })).json()
  expect(tasks).toHaveLength(1)
}, 180_000)

test('the card is signed with the same key after a restart, and only callers may read it unless told otherwise', async () => {
  const card = async (url: string): Promise<Body> =>
    (await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })).json()
  gateway = await startParley({ dataDir })
  const [before] = (await card(gateway.url)).signatures
  await gateway.stop()
  gateway = await startParley({ dataDir })
  const [after] = (await card(gateway.url)).signatures
  const kid = ({ protected: header }: Body): string => JSON.parse(atob(header)).kid
  expect(kid(after)).toBe(kid(before))
}, 180_000)
