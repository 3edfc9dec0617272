// Attacks on files over the API, each refused or neutralised: names, bytes that want to be run, URLs that want to lead elsewhere.
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Api, startApi } from '../../doubles/api.ts'
import { memoryBlobs } from '../../doubles/memory-blobs.ts'
import { madeToken } from '../../doubles/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const origin = 'https://parley.example'
const object = '/storage/v1/object/sign/agent-files'
const here = { isHere: true }
const png = Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10, 1, 2, 3])
const script = '<script>alert(document.cookie)</script>'

type Uploaded = { readonly path: string; readonly mime_type: string; readonly url: string }

describeOnDatabase('an attack with a file', (database) => {
  let api: Api
  let blobs: ReturnType<typeof memoryBlobs>
  beforeEach(() => {
    blobs = memoryBlobs(origin)
    api = startApi(database(), undefined, 30_000, { files: blobs })
  })
  afterEach(() => api.stop())

  const send = (body: BodyInit, from: Parameters<Api['request']>[2] = here, headers: HeadersInit = {}) =>
    api.request('/api/v1/agent/attachments', { method: 'POST', body, headers }, from)
  const upload = async (bytes: BlobPart, name = 'a', type = '', from = here): Promise<Uploaded> => {
    const form = new FormData()
    form.append('threadId', 't1')
    form.append('file', new Blob([bytes], { type }), name)
    const response = await send(form, from)
    expect(response.status).toBe(201)
    return (await response.json()) as Uploaded
  }
  const follow = (url: string) => api.request(url.replace(origin, ''))
  const codeOf = async (response: Response): Promise<string> =>
    ((await response.json()) as { error: { code: string } }).error.code

  const active: readonly (readonly [name: string, bytes: BlobPart])[] = [
    ['a page', `<!doctype html>${script}`],
    ['a page behind white space and a comment', `\n\n  <!-- ${'x'.repeat(400)} -->\n<html>${script}`],
    ['a page in UTF-16', new Uint8Array([0xff, 0xfe, ...Buffer.from(`<html>${script}`, 'utf16le')])],
    ['a picture that is a program', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
    ['a picture behind a declaration', `<?xml version="1.0"?><!DOCTYPE svg><svg onload="alert(1)"/>`],
    ['markup', `<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>`],
    ['a GIF that is also a script', `GIF89a/*${script}*/=1;alert(1)`],
    ['a document that begins late', `junk before it\n%PDF-1.7\n/OpenAction << /S /JavaScript >>`],
    ['a program', new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0])],
    ['bytes of no kind', new Uint8Array([0, 1, 2, 3, 0xfe, 0xff, 0x3c])],
  ]
  test.each(active)('%s is served as something to save, never to run', async (_name, bytes) => {
    const { url } = await upload(bytes, 'innocent.png')
    const response = await follow(url)
    const type = response.headers.get('content-type') ?? ''
    expect(type).not.toMatch(/html|svg|xml|javascript|ecmascript|x-shockwave/i)
    expect(type === 'application/octet-stream' ? 'attachment' : 'text/plain; charset=utf-8').toBe(
      type === 'application/octet-stream' ? (response.headers.get('content-disposition') ?? '').split(';')[0] : type,
    )
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
  })

  test.each([
    ['image/png', `<html>${script}`],
    ['image/jpeg', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
    ['audio/mpeg', 'MZ this is a program'],
  ])('what says that it is %s and is not is not kept', async (type, bytes) => {
    const form = new FormData()
    form.append('file', new Blob([bytes], { type }), 'x')
    const response = await send(form)
    expect([response.status, await codeOf(response), blobs.objects.size]).toEqual([415, 'SU_MIME', 0])
  })

  test('a small file that would unpack to a thousand times its size stays small', async () => {
    const bomb = gzipSync(new Uint8Array(20 * 1024 * 1024))
    const { url, mime_type } = await upload(bomb, 'bomb.gz')
    expect(mime_type).toBe('application/gzip')
    const down = await follow(url)
    expect(down.headers.get('content-encoding')).toBeNull()
    expect((await down.arrayBuffer()).byteLength).toBe(bomb.byteLength)
  })

  const names: readonly string[] = [
    '../../etc/passwd',
    '..\\..\\boot.ini',
    'a\r\nset-cookie: x=1\r\n\r\n<script>',
    'photo\u202Egnp.exe',
    '\u0000.png',
    '"; filename="evil.html',
    "x'); DROP TABLE attachments;--",
    '.htaccess',
    '\ud800',
    'é'.repeat(400),
  ]
  test.each(names)('a file called %j is stored under a name of ours and answered in one safe header', async (name) => {
    const boundary = 'b'
    // By hand, and encoded no more than a form must be: a client would make most of these harmless before they leave.
    const written = name.toWellFormed().replace(/["\r\n]/g, encodeURIComponent)
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${written}"\r\n\r\n`
    const body = new Blob([head, png, `\r\n--${boundary}--\r\n`])
    const response = await send(body, here, { 'content-type': `multipart/form-data; boundary=${boundary}` })
    expect(response.status).toBe(201)
    const { path, url } = (await response.json()) as Uploaded
    expect(path).toMatch(/^agent-inputs\/[0-9a-f-]{36}\.png$/)
    const disposition = (await follow(url)).headers.get('content-disposition') ?? ''
    expect(disposition).toMatch(/^inline; filename="[A-Za-z0-9 ._()-]*"; filename\*=UTF-8''[A-Za-z0-9%._~!$&+^`|-]*$/)
    expect(decodeURIComponent(disposition.split("''")[1] ?? '')).not.toMatch(/[/\\\r\n\u0000\u202e]/)
  })

  describe('on a handle', () => {
    // What a client resolves before it sends is asked of the real listener in test/process/cli/attachments.test.ts.
    const twisted: readonly (readonly [name: string, twist: (path: string) => string])[] = [
      ['climbing, encoded twice', (path) => `%252e%252e/${path}`],
      ['an encoded separator', (path) => path.replace('/', '%2f')],
      ['a NUL', (path) => `${path}%00.png`],
      ['an empty segment', (path) => path.replace('/', '//')],
      ['an invalid escape', (path) => `${path}%zz`],
    ]
    test.each(twisted)('%s is refused', async (_name, twist) => {
      const { path, url } = await upload(png)
      const { search } = new URL(url)
      const response = await follow(`${object}/${twist(path)}${search}`)
      expect(response.status).toBeGreaterThanOrEqual(400)
      expect(response.headers.get('content-type')).toContain('application/problem+json')
    })

    test('the bucket, the object and the signature belong together', async () => {
      const [one, two] = [await upload(png), await upload(Uint8Array.from([...png, 7]))]
      const { search } = new URL(one.url)
      const [head, , signature] = (new URL(one.url).searchParams.get('token') ?? '').split('.')
      const claims = { ...JSON.parse(atob((search.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))) }
      const forged = Buffer.from(JSON.stringify({ ...claims, url: `agent-files/${two.path}` })).toString('base64url')
      const unsigned = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url')
      const attempts = [
        `${object}/${two.path}${search}`,
        `${object.replace('agent-files', 'secrets')}/${one.path}${search}`,
        `${object}/${two.path}?token=${head}.${forged}.${signature}`,
        `${object}/${two.path}?token=${unsigned}.${forged}.`,
        `${one.url}&token=x`,
      ]
      for (const attempt of attempts) expect([400, 401, 403, 404]).toContain((await follow(attempt)).status)
    })
  })

  describe('by a URL in a message', () => {
    const run = async (url: string, from: Parameters<Api['run']>[1] = here) => {
      const content = [{ type: 'binary', mimeType: 'image/png', url }]
      const body = JSON.stringify({
        threadId: 't1',
        runId: crypto.randomUUID(),
        messages: [{ id: 'm', role: 'user', content }],
      })
      return api.run('r', { ...from, body })
    }
    test.each([
      'http://169.254.169.254/latest/meta-data/',
      'http://127.0.0.1:8787/admin/tokens',
      'https://127.0.0.1/storage/v1/object/sign/agent-files/agent-inputs/x.png?token=a',
      'https://[::1]/storage/v1/object/sign/agent-files/agent-inputs/x.png?token=a',
      'https://parley.example.evil.test/storage/v1/object/sign/agent-files/agent-inputs/x.png?token=a',
      'https://user:password@parley.example/storage/v1/object/sign/agent-files/agent-inputs/x.png?token=a',
      'https://parley.example./storage/v1/object/sign/agent-files/agent-inputs/x.png?token=a',
      'file:///etc/passwd',
      'data:image/png;base64,AAAA',
      'gopher://127.0.0.1:6379/_FLUSHALL',
    ])('%s is refused by a code, and nobody fetches it', async (url) => {
      const answer = await run(url)
      expect(answer.status).toBe(400)
      expect(answer.body.error.code).toMatch(/^(?:SU_[A-Z_]+|attachment_url_must_be_https)$/)
      expect(JSON.stringify(answer.body)).not.toContain('token=')
      expect(api.heard).toEqual([])
    })

    test("another person's file is refused, also with the handle they were given", async () => {
      const [ada, bob] = await Promise.all(
        ['test:ada', 'test:bob'].map(async (principal) => ({
          token: (await madeToken(database(), { principal, scopes: ['run'] })).clear,
        })),
      )
      const form = new FormData()
      form.append('file', new Blob([png]), 'a.png')
      const { url, path } = (await (await send(form, ada)).json()) as Uploaded
      const answer = await run(url, bob)
      expect([answer.status, answer.body.error.code]).toEqual([400, 'SU_OWNER'])
      const asked = `/api/v1/agent/attachments/signed-url?bucket=agent-files&path=${encodeURIComponent(path)}`
      expect((await api.request(asked, {}, bob)).status).toBe(404)
      expect(api.heard).toEqual([])
    })
  })
})
