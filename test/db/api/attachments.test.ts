// Files over the API: up as a form, down by handle, and no other person's by any name.
import { afterEach, expect, test } from 'vitest'
import { loadConfig } from '../../../src/config.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { runRetentionSweep } from '../../../src/gateway/sweep.ts'
import { type Api, startApi } from '../../doubles/api.ts'
import { memoryBlobs } from '../../doubles/memory-blobs.ts'
import { madeToken } from '../../doubles/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const png = Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10, ...Array.from({ length: 200 }, (_, at) => at)])
const uploads = '/api/v1/agent/attachments'

type Uploaded = { readonly bucket: string; readonly path: string; readonly mime_type: string; readonly url: string }

function form(file: Blob | null, fields: Readonly<Record<string, string>> = {}, name = 'cat.png'): FormData {
  const data = new FormData()
  for (const [field, value] of Object.entries(fields)) data.append(field, value)
  if (file !== null) data.append('file', file, name)
  return data
}

describeOnDatabase('files over the API', (database) => {
  let api: Api
  let blobs: ReturnType<typeof memoryBlobs>
  const start = () => {
    blobs = memoryBlobs()
    api = startApi(database(), undefined, 30_000, { files: blobs })
    return api
  }
  afterEach(() => api.stop())
  const here = { isHere: true }
  const send = (body: BodyInit, from: Parameters<Api['request']>[2] = here, headers: HeadersInit = {}) =>
    api.request(uploads, { method: 'POST', body, headers }, from)
  const sent = async (from: Parameters<Api['request']>[2] = here, fields = {}): Promise<Uploaded> => {
    const response = await send(form(new Blob([png], { type: 'image/png' }), fields), from)
    expect(response.status).toBe(201)
    return (await response.json()) as Uploaded
  }
  const follow = (url: string, init: RequestInit = {}) => api.request(url.replace('https://parley.example', ''), init)
  const codeOf = async (response: Response) => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ]

  test('go up and come down: the four fields of an upload, and the same bytes under headers that make them inert', async () => {
    start()
    const answer = await sent()
    expect(answer).toEqual({
      bucket: 'agent-files',
      path: expect.stringMatching(/^agent-inputs\/[0-9a-f-]{36}\.png$/),
      mime_type: 'image/png',
      url: expect.stringContaining(`https://parley.example/storage/v1/object/sign/agent-files/${answer.path}?token=`),
    })
    const down = await follow(answer.url)
    expect(down.status).toBe(200)
    expect(new Uint8Array(await down.arrayBuffer())).toEqual(png)
    expect(Object.fromEntries(down.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(png.byteLength),
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
      'content-security-policy': expect.stringContaining('sandbox'),
    })
  })

  test('come down in ranges, not at all where they are known, and without bytes when only asked about', async () => {
    start()
    const { url } = await sent()
    const part = await follow(url, { headers: { range: 'bytes=8-11' } })
    expect([part.status, part.headers.get('content-range'), new Uint8Array(await part.arrayBuffer())]).toEqual([
      206,
      `bytes 8-11/${png.byteLength}`,
      png.slice(8, 12),
    ])
    const past = await follow(url, { headers: { range: 'bytes=999-' } })
    expect([past.status, past.headers.get('content-range')]).toEqual([416, `bytes */${png.byteLength}`])
    const head = await follow(url, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(png.byteLength),
      '',
    ])
    const etag = head.headers.get('etag') ?? ''
    expect((await follow(url, { headers: { 'if-none-match': etag } })).status).toBe(304)
    expect((await follow(url, { headers: { range: 'bytes=0-1', 'if-range': '"other"' } })).status).toBe(200)
  })

  test('are refused by code: forged, altered, expired, escaped, and gone', async () => {
    start()
    const { url, path } = await sent()
    expect(await codeOf(await follow(url.replace(/token=.*/, '')))).toEqual([401, 'SU_TOKEN_MALFORMED'])
    expect(await codeOf(await follow(`${url}x`))).toEqual([401, 'SU_TOKEN_MALFORMED'])
    expect(await codeOf(await follow(`${url}&token=x`))).toEqual([400, 'SU_DUP_PARAM'])
    const other = await sent(here, {})
    expect(await codeOf(await follow(url.replace(path, `${path}x`)))).toEqual([403, 'SU_TOKEN_MISMATCH'])
    expect(other.url).not.toBe(url)
    await database().query(nameStatement('test_gone', `update attachments set status = 'deleted'`), [])
    expect(await codeOf(await follow(url))).toEqual([404, 'SU_BLOCKED'])
  })

  test('are not found once their object is not there', async () => {
    start()
    const { url } = await sent()
    blobs.objects.clear()
    expect(await codeOf(await follow(url))).toEqual([404, 'not_found'])
  })

  test('SU-22 belong to their sender: this machine, or the holder of a token with the scope run', async () => {
    start()
    const ada = (await madeToken(database(), { principal: 'test:ada', scopes: ['run'] })).clear
    const bob = (await madeToken(database(), { principal: 'test:bob', scopes: ['run'] })).clear
    const reader = (await madeToken(database(), { scopes: ['read'] })).clear
    const { bucket, path } = await sent({ token: ada })
    const asked = (from: Parameters<Api['request']>[2]) =>
      api.request(`${uploads}/signed-url?bucket=${bucket}&path=${encodeURIComponent(path)}`, {}, from)
    const own = (await (await asked({ token: ada })).json()) as Uploaded
    expect(own).toEqual({ bucket, path, url: expect.stringContaining(path) })
    expect((await follow(own.url)).status).toBe(200)
    for (const stranger of [{ token: bob }, here])
      expect(await codeOf(await asked(stranger))).toEqual([404, 'not_found'])
    const body = () => form(new Blob([png]))
    expect(await codeOf(await send(body(), {}))).toEqual([401, 'missing_credential'])
    expect(await codeOf(await send(body(), { token: 'prl_wrong' }))).toEqual([401, 'invalid_token'])
    expect(await codeOf(await send(body(), { token: reader }))).toEqual([403, 'insufficient_scope'])
    expect(await codeOf(await send(body(), here, { origin: 'https://evil.example' }))).toEqual([403, 'foreign_page'])
    expect(await codeOf(await asked({}))).toEqual([401, 'missing_credential'])
  })

  test('are not asked for by a page elsewhere that makes a browser on this machine ask', async () => {
    start()
    const { bucket, path } = await sent()
    const query = `?bucket=${bucket}&path=${encodeURIComponent(path)}`
    const from = { headers: { 'sec-fetch-site': 'cross-site' } }
    expect(await codeOf(await api.request(`${uploads}/signed-url${query}`, from, here))).toEqual([
      401,
      'missing_credential',
    ])
  })

  test('are not taken from somebody who is shut out', async () => {
    start()
    const ada = (await madeToken(database(), { principal: 'test:ada', scopes: ['run'] })).clear
    await api.operate('POST', '/admin/grants', { subject: 'test:ada', effect: 'deny' })
    expect(await codeOf(await send(form(new Blob([png])), { token: ada }))).toEqual([403, 'forbidden'])
  })

  test('are refused with what to do: too large, empty, of another kind than declared, no form, no file, out of order', async () => {
    start()
    const large = new Blob([new Uint8Array(26 * 1024 * 1024)])
    const tooLarge = await send(form(large))
    expect([tooLarge.status, await tooLarge.json()]).toMatchObject([
      413,
      { error: { code: 'SU_TOO_LARGE', remedy: 'the file is too large; send at most 25 MB (26214400 bytes)' } },
    ])
    expect(await codeOf(await send(form(new Blob([]))))).toEqual([400, 'SU_EMPTY'])
    const html = new Blob(['<!doctype html><script>alert(1)</script>'], { type: 'image/png' })
    expect(await codeOf(await send(form(html)))).toEqual([415, 'SU_MIME'])
    expect(await codeOf(await send('{}', here, { 'content-type': 'application/json' }))).toEqual([
      415,
      'unsupported_media_type',
    ])
    expect(await codeOf(await send(form(null, { threadId: 't1' })))).toEqual([400, 'bad_request'])
    const late = form(new Blob([png]))
    late.append('threadId', 't1')
    expect(await codeOf(await send(late))).toEqual([400, 'bad_request'])
    const two = form(new Blob([png]))
    two.append('file', new Blob([png]), 'b.png')
    expect(await codeOf(await send(two))).toEqual([400, 'bad_request'])
    const left = await database().query(
      nameStatement('test_left', `select 1 from attachments where status = 'ready'`),
      [],
    )
    expect(left).toEqual([])
  })

  test('are refused by name, with what to set, where nothing holds them', async () => {
    // The same as on a runtime that was given no place for them.
    blobs = memoryBlobs()
    api = startApi(database(), undefined, 30_000, { files: undefined } as unknown as Parameters<typeof startApi>[3])
    const response = await send(form(new Blob([png])))
    expect([response.status, (await response.json()).error]).toMatchObject([
      501,
      { code: 'config_invalid', remedy: expect.stringContaining('PARLEY_PUBLIC_URL') },
    ])
  })

  test('leave the store with the sweeper, once nobody used them', async () => {
    start()
    await sent()
    const { deps } = api.gateway
    const { retention } = loadConfig({}, {}, [])
    const round = () =>
      runRetentionSweep({ config: { retention, tenant: 'default' }, database: database(), deps, log: deps.log })
    await round()
    expect(blobs.objects.size).toBe(1)
    await database().query(
      nameStatement('test_aged', `update attachments set created_at = now() - interval '25 hours'`),
      [],
    )
    await round()
    expect(blobs.objects.size).toBe(0)
    expect(api.gateway.logged).toContainEqual({ level: 'info', event: 'attachments_swept', facts: { count: 1 } })
  })

  test('remember the thread they were sent for', async () => {
    start()
    await sent(here, { threadId: ' t-9 ', runId: 'r1' })
    const rows = await database().query(
      nameStatement('test_rows', 'select thread_id as thread, owner, received_via as via from attachments'),
      [],
    )
    expect(rows).toEqual([{ thread: 't-9', owner: 'gw:user/local', via: 'agui' }])
  })
})
