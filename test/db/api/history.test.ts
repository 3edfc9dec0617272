// History over the API: upload, run and read back, with a fresh URL at every read, for the owner of the thread alone.
import { afterEach, expect, test } from 'vitest'
import { type Agent, defineAgent } from '../../../src/agents/define-agent.ts'
import { demoAgent } from '../../../src/agents/demo-agent.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { type Api, startApi } from '../../doubles/api.ts'
import { memoryBlobs } from '../../doubles/memory-blobs.ts'
import { madeToken } from '../../doubles/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const png = Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10, 1, 2, 3])
const here = { isHere: true }

type Message = {
  readonly id: string
  readonly role: string
  readonly content: readonly Record<string, unknown>[]
  readonly toolCalls?: readonly Record<string, unknown>[]
}
type From = Parameters<Api['request']>[2]

describeOnDatabase('the history of a thread', (database) => {
  let api: Api
  let blobs: ReturnType<typeof memoryBlobs>
  const echo = defineAgent({ slug: 'demo', run: ({ parts }) => `${parts.length} parts` })
  const start = (agent: Agent = echo): void => {
    blobs = memoryBlobs()
    api = startApi(database(), [agent], 30_000, { files: blobs })
  }
  afterEach(() => api.stop())
  const upload = async (bytes: Uint8Array<ArrayBuffer>, from: From = here): Promise<string> => {
    const body = new FormData()
    body.append('threadId', 'thread-123')
    body.append('file', new Blob([bytes], { type: 'image/png' }), 'img.png')
    const response = await api.request('/api/v1/agent/attachments', { method: 'POST', body }, from)
    return ((await response.json()) as { url: string }).url
  }
  const say = async (id: string, content: unknown, from: From = here, threadId = 'thread-123') => {
    const body = JSON.stringify({ threadId, runId: `run-${id}`, messages: [{ id, role: 'user', content }] })
    const answer = await api.run(`run-${id}`, { body, ...from })
    expect(answer.status).toBe(200)
  }
  const read = (query: string, from: From = here) => api.request(`/api/v1/agent/history?${query}`, {}, from)
  const messages = async (query = 'threadId=thread-123', from: From = here): Promise<readonly Message[]> => {
    const response = await read(query, from)
    expect(response.status).toBe(200)
    return ((await response.json()) as { messages: Message[] }).messages
  }
  const binary = (url: string) => ({ type: 'binary', mimeType: 'image/png', url })
  const fresh = {
    type: 'binary',
    mimeType: 'image/png',
    url: expect.stringContaining('/storage/v1/object/sign/agent-files/'),
  }

  test('SU-19 is exactly the documented shape, with another URL at every read that leads to the same bytes', async () => {
    start()
    const url = await upload(png)
    await say('msg-1', [{ type: 'text', text: '帮我看看这张图' }, binary(url)])
    const [first, reply, ...rest] = await messages()
    expect(first).toEqual({ id: 'msg-1', role: 'user', content: [{ type: 'text', text: '帮我看看这张图' }, fresh] })
    expect([reply?.role, reply?.content, rest]).toEqual(['assistant', [{ type: 'text', text: '2 parts' }], []])
    const [again] = await messages()
    const urls = [url, first?.content[1]?.['url'], again?.content[1]?.['url']].map(String)
    expect(new Set(urls).size).toBe(3)
    for (const each of urls) {
      const down = await api.request(each.replace('https://parley.example', ''))
      expect(new Uint8Array(await down.arrayBuffer())).toEqual(png)
    }
    expect((await read('threadId=thread-123')).headers.get('cache-control')).toBe('private, no-store')
  })

  test('keeps where a file is and never a URL or a token', async () => {
    start()
    const url = await upload(png)
    await say('msg-1', [binary(url)])
    const rows = await database().query<{ line: string }>(
      nameStatement(
        'test_lines',
        'select m.envelope::text as line from messages m union all select x.message::text from inbox x',
      ),
      [],
    )
    for (const { line } of rows) expect(line).not.toContain('token=')
    const [stored] = await database().query<{ metadata: Record<string, unknown> }>(
      nameStatement('test_stored', `select envelope -> 'metadata' as metadata from messages where role = 'user'`),
      [],
    )
    expect(stored?.metadata['user_message_attachments']).toEqual({
      bucket: 'agent-files',
      path: expect.stringMatching(/^agent-inputs\//),
      mime_type: 'image/png',
    })
  })

  test('SU-21 shows one file that is gone as unavailable, and the others as they are', async () => {
    start()
    const [kept, lost] = [await upload(png), await upload(Uint8Array.from([...png, 9]))]
    await say('msg-1', [binary(kept), binary(lost), { type: 'text', text: 'two' }])
    const path = new URL(lost).pathname.split('/agent-files/')[1] ?? ''
    expect(blobs.objects.delete(path)).toBe(true)
    const [first] = await messages()
    const gone = { type: 'binary', mimeType: 'image/png', unavailable: true, reason: 'gone' }
    expect(first?.content).toEqual([fresh, gone, { type: 'text', text: 'two' }])
    await database().query(nameStatement('test_deleted', 'delete from attachments'), [])
    expect((await messages())[0]?.content).toEqual([gone, gone, { type: 'text', text: 'two' }])
  })

  test('SU-20 is of no other person, whatever they call their own thread', async () => {
    start()
    const [ada, bob] = await Promise.all(
      ['test:ada', 'test:bob'].map(async (principal) => ({
        token: (await madeToken(database(), { principal, scopes: ['run'] })).clear,
      })),
    )
    await say('msg-1', 'from ada', ada)
    expect((await read('threadId=thread-123', bob)).status).toBe(404)
    expect((await read('threadId=thread-123', here)).status).toBe(404)
    expect((await read('threadId=thread-123', {})).status).toBe(401)
    await say('msg-1', 'from bob', bob)
    await say('msg-2', 'from bob again', bob)
    const texts = (await messages('threadId=thread-123', bob)).map(({ content }) => content[0]?.['text'])
    expect(texts).toEqual(['from bob', '1 parts', 'from bob again', '1 parts'])
    expect((await messages('threadId=thread-123', ada))[0]?.content).toEqual([{ type: 'text', text: 'from ada' }])
  })

  test('is read backwards page by page, across a new session, without what was deleted', async () => {
    start()
    for (const id of ['m1', 'm2']) await say(id, `said ${id}`)
    await say('m3', '/new')
    await say('m4', 'said m4')
    const all = (await messages()).map(({ id }) => id)
    expect(all.filter((id) => id.startsWith('m'))).toEqual(expect.arrayContaining(['m1', 'm2', 'm4']))
    const last = (await messages('threadId=thread-123&limit=2')).map(({ id }) => id)
    expect(last).toEqual(all.slice(-2))
    const before = (await messages(`threadId=thread-123&limit=2&before=${last[0]}`)).map(({ id }) => id)
    expect(before).toEqual(all.slice(-4, -2))
    expect(await messages('threadId=thread-123&before=m1')).toEqual([])
    const erased = `update messages set envelope = jsonb_set(envelope, '{metadata,deleted}', 'true') where envelope #>> '{metadata,message_id}' = 'm2'`
    await database().query(nameStatement('test_erased', erased), [])
    expect((await messages()).map(({ id }) => id)).toEqual(all.filter((id) => id !== 'm2'))
  })

  test('has the later form as well, with metadata and no URL', async () => {
    start()
    await say('msg-1', [{ type: 'text', text: 'look' }, binary(await upload(png))])
    const response = await read('threadId=thread-123&format=metadata')
    const body = (await response.json()) as { messages: readonly Record<string, unknown>[] }
    expect(body.messages[0]).toEqual({
      id: 'msg-1',
      seq: 0,
      role: 'user',
      content: 'look',
      metadata: {
        run_id: 'run-msg-1',
        stage: 'intent',
        message_id: 'msg-1',
        user_message_attachments: expect.objectContaining({ bucket: 'agent-files' }),
        attachments: [expect.objectContaining({ bucket: 'agent-files', mime_type: 'image/png' })],
      },
      timestamp: expect.stringMatching(/^\d{4}-/),
    })
    expect(JSON.stringify(body)).not.toContain('token=')
  })

  test('shows a question that waits, and afterwards who decided what, with the calls of its tools', async () => {
    start(demoAgent)
    await say('m1', '/order two apples')
    const [, asked] = await messages()
    const policy = {
      kind: 'approval_required',
      state: 'pending',
      summary: 'order two apples',
      choices: ['approve', 'reject'],
      action_id: expect.any(String),
      code: expect.stringMatching(/^[0-9a-f]{6}$/),
      message: expect.stringContaining('/approve'),
      question: expect.not.stringContaining('/approve'),
      expires_at: expect.any(String),
    }
    expect(asked?.content).toEqual([{ type: 'text', text: expect.stringContaining('/approve'), policy }])
    const call = { id: expect.any(String), name: 'demo/order', args: { what: 'two apples' } }
    expect(asked?.toolCalls).toEqual([call])
    await say('m2', '/approve')
    const [, approved, result] = await messages()
    expect(approved?.content[0]?.['policy']).toEqual({
      ...policy,
      state: 'approved',
      decided_by: 'gw:user/local',
      decided_at: expect.any(String),
    })
    expect(result?.content).toEqual([{ type: 'text', text: expect.stringContaining('Ordered: two apples.') }])
    expect(result?.toolCalls).toEqual([
      { id: asked?.toolCalls?.[0]?.['id'], name: 'demo/order', success: true, result: expect.anything() },
    ])
    await say('m3', '/order pears')
    await say('m4', '/reject')
    await say('m5', '/order plums')
    await database().query(
      nameStatement('test_outdate', `update pending_actions set expires_at = now() - interval '1 s'`),
      [],
    )
    const states = (await messages()).flatMap(({ content }) =>
      content.flatMap((part) => ('policy' in part ? [(part['policy'] as { state: string }).state] : [])),
    )
    expect(states).toEqual(['approved', 'rejected', 'expired'])
    const later = await read('threadId=thread-123&format=metadata')
    const lines = ((await later.json()) as { messages: Record<string, unknown>[] }).messages
    expect(lines[1]).toMatchObject({
      content: '',
      policies: [{ state: 'approved' }],
      toolCalls: [{ name: 'demo/order' }],
    })
  })

  test('shows what a link is called, and the calls that a function tells of', async () => {
    start(
      defineAgent({
        slug: 'demo',
        run: () => ({
          parts: [
            { kind: 'tool_call', id: 'c1', name: 'search', args: { q: 'x' }, result: [1] },
            { kind: 'link', url: 'https://a.example/x', title: 'A title', description: 'About it' },
          ],
        }),
      }),
    )
    await say('m1', 'hello')
    const [, reply] = await messages()
    const link = { url: 'https://a.example/x', title: 'A title', description: 'About it' }
    expect(reply?.content).toEqual([{ type: 'text', text: 'https://a.example/x', link }])
    expect(reply?.toolCalls).toEqual([{ id: 'c1', name: 'search', args: { q: 'x' }, result: [1], success: true }])
  })

  test('asks for what it needs', async () => {
    start()
    expect((await read('')).status).toBe(400)
    expect((await read('threadId=%20')).status).toBe(400)
    expect((await read('threadId=none')).status).toBe(404)
    await say('msg-1', 'hello')
    for (const wrong of ['limit=0', 'limit=201', 'format=xml'])
      expect((await read(`threadId=thread-123&${wrong}`)).status).toBe(400)
  })
})
