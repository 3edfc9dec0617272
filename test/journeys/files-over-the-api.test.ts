// Files of the run API: upload a file, name its signed URL in a run, and the agent gets it; the URL itself goes no further.
import { afterEach, expect, test } from 'vitest'
import type { NormalizedMessage } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type Api, type ApiCall, startApi } from '../doubles/api.ts'
import { memoryBlobs } from '../doubles/memory-blobs.ts'
import { madeToken } from '../doubles/tokens.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const everything = nameStatement(
  'test_everything',
  `select string_agg(query_to_xml(format('select * from %I', tablename), true, false, '')::text, '') as dump
   from pg_tables where schemaname = 'public'`,
)
const inbox = nameStatement(
  'test_inbox',
  'select state, reason, message is null and raw is null as "isEmpty" from inbox',
)
const metadata = nameStatement(
  'test_metadata',
  `select envelope -> 'metadata' as metadata from messages order by seq limit 1`,
)
const jpeg = Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0, ...Array(64).fill(7)])

describeOnDatabase('a signed URL in a run', (database) => {
  let api: Api
  afterEach(() => api.stop())
  const start = (origin?: string) => {
    api = startApi(database(), undefined, 30_000, { files: memoryBlobs(origin) })
  }
  const dump = async () => (await database().query<{ dump: string }>(everything, []))[0]?.dump ?? ''
  const upload = async (from: Pick<ApiCall, 'token' | 'isHere'> = { isHere: true }, fields = {}, bytes = jpeg) => {
    const data = new FormData()
    for (const [field, value] of Object.entries(fields)) data.append(field, String(value))
    data.append('file', new Blob([bytes], { type: 'image/jpeg' }), 'img.jpg')
    const response = await api.request('/api/v1/agent/attachments', { method: 'POST', body: data }, from)
    expect(response.status).toBe(201)
    return (await response.json()) as { bucket: string; path: string; url: string }
  }
  const binary = (url: string) => ({ type: 'binary', mimeType: 'image/jpeg', url })
  const run = (runId: string, url: string, call: ApiCall = { isHere: true }) => {
    const content = [{ type: 'text', text: '帮我看看这张图' }, binary(url)]
    const messages = [{ id: 'msg-1', role: 'user', content }]
    return api.run(runId, { ...call, body: JSON.stringify({ threadId: 'thread-123', runId, messages }) })
  }
  const fileIn = (message: NormalizedMessage | undefined) => {
    const part = message?.parts[1]
    return part?.kind === 'file' && 'bytes_ref' in part ? part : expect.unreachable(JSON.stringify(message?.parts))
  }

  test('becomes the stored file: the agent gets a handle of its own, the transcript the three fields of an attachment', async () => {
    start()
    const { bucket, path, url } = await upload()
    expect((await run('run-456', url)).status).toBe(200)
    const part = fileIn(api.heard[0])
    expect(part).toMatchObject({ mime: 'image/jpeg', name: 'img.jpg', size: jpeg.length, attachment: { bucket, path } })
    const handle = String((part.bytes_ref as { url: string }).url)
    expect(handle).not.toBe(url)
    const down = await api.request(handle.replace('https://parley.example', ''))
    expect(new Uint8Array(await down.arrayBuffer())).toEqual(jpeg)
    const [line] = await database().query<{ metadata: Record<string, unknown> }>(metadata, [])
    expect(line?.metadata['user_message_attachments']).toEqual({ bucket, path, mime_type: 'image/jpeg' })
    const shown = `${await dump()}${JSON.stringify(api.gateway.logged)}`
    for (const token of [url, handle].map((each) => each.split('token=')[1] ?? '')) expect(shown).not.toContain(token)
    // The original is kept for a while, without what its links were signed with.
    expect(shown.split('token=').slice(1)).toEqual([expect.stringMatching(/^\[redacted\]/)])
  })

  test('SU-12 the same run under a newer URL of the same file is the same run', async () => {
    start()
    const first = await upload()
    await run('run-1', first.url)
    const query = `bucket=${first.bucket}&path=${first.path}`
    const again = await api.request(`/api/v1/agent/attachments/signed-url?${query}`, {}, { isHere: true })
    const { url } = (await again.json()) as { url: string }
    expect(url).not.toBe(first.url)
    expect((await run('run-1', url)).status).toBe(200)
    expect(api.heard).toHaveLength(1)
  })

  test('of our own http origin is taken too', async () => {
    start('http://127.0.0.1:8787')
    const { url } = await upload()
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:8787\//)
    expect((await run('run-1', url)).status).toBe(200)
    expect(fileIn(api.heard[0])).toMatchObject({ attachment: { bucket: 'agent-files' } })
  })

  test.each([
    ['https://xxx.supabase.co/storage/v1/object/sign/agent-files/agent-inputs/u/t/r/img.jpg?token=canary', 'SU_HOST'],
    ['https://parley.example/storage/v1/object/sign/agent-files/agent-inputs/x.jpg?token=canary', 'SU_TOKEN_MALFORMED'],
    ['https://parley.example/storage/v1/object/sign/other/agent-inputs/x.jpg?token=canary', 'SU_BUCKET'],
    ['https://parley.example/storage/v1/object/sign/agent-files/../secret/x?token=canary', 'SU_TRAVERSAL'],
    ['http://169.254.169.254/storage/v1/object/sign/agent-files/x?token=canary', 'SU_SCHEME'],
  ])('%s is refused as %s: nothing is queued, fetched or kept of it', async (url, code) => {
    start()
    const { status, body } = await run('run-1', url)
    expect([status, body.error.code, typeof body.error.remedy]).toEqual([400, code, 'string'])
    expect(await database().query(inbox, [])).toEqual([{ state: 'dead', reason: code, isEmpty: true }])
    expect(`${await dump()}${JSON.stringify(api.gateway.logged)}${JSON.stringify(body)}`).not.toContain('canary')
    expect(api.heard).toEqual([])
  })

  test("SU-13 another user's file is refused, whatever its signature, and so is one of another thread", async () => {
    start()
    const theirs = (await madeToken(database(), { principal: 'test:bob', scopes: ['run'] })).clear
    const { url } = await upload()
    const foreign = await run('run-1', url, { token: theirs })
    expect([foreign.status, foreign.body.error.code]).toEqual([400, 'SU_OWNER'])
    const elsewhere = await upload({ isHere: true }, { threadId: 'another-thread' }, jpeg.with(-1, 8))
    expect((await run('run-2', elsewhere.url)).body.error.code).toBe('SU_OWNER')
    expect(api.heard).toEqual([])
  })
})
