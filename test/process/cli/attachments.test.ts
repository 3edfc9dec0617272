// Files from the command line, beside a running gateway and without one: what the routes did is what the commands show.
import { get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHome, type Home, type Running } from './parley.ts'

let home: Home
let gateway: Running

beforeAll(async () => {
  home = await createHome({})
  gateway = await home.start()
}, 120_000)
afterAll(() => home.close(), 60_000)

const upload = async (text: string, name: string): Promise<{ url: string; path: string }> => {
  const body = new FormData()
  body.append('file', new Blob([text], { type: 'text/plain' }), name)
  const response = await fetch(`${gateway.url}/api/v1/agent/attachments`, { method: 'POST', body })
  expect(response.status).toBe(201)
  return (await response.json()) as { url: string; path: string }
}

test('files: listed, shown, deleted and gone; handles end with their file', async () => {
  expect((await home.parley(['attachments', 'list'])).stdout).toBe('No files.\n')
  const { url, path } = await upload('a poem', 'poem.txt')
  expect(await (await fetch(url)).text()).toBe('a poem')
  const list = await home.parley(['attachments', 'list'])
  expect(list.stdout).toMatch(/ready +text\/plain +6 +gw:user\/local .*poem\.txt$/m)
  const { stdout } = await home.parley(['attachments', 'list', '--limit', '1', '--json'])
  const id: string = JSON.parse(stdout).attachments[0].id
  expect((await home.parley(['attachments', 'show', id])).stdout).toMatch(new RegExp(`^path +${path}$`, 'm'))
  expect((await home.parley(['attachments', 'delete', id])).code).toBe(2)
  expect((await home.parley(['attachments', 'delete', id, '--yes'])).stdout).toContain('Deleted.')
  expect((await home.parley(['attachments', 'delete', id, '--yes'])).code).toBe(3)
  expect((await fetch(url)).status).toBe(404)
  expect((await home.parley(['attachments', 'show', '0192f1c2-7d5e-7abc-8def-0123456789ab'])).code).toBe(3)
  expect((await home.parley(['attachments', 'show', 'poem'])).code).not.toBe(0)
  const log = await home.parley(['audit', '--json'])
  expect(log.stdout).toContain('attachment.delete')
}, 180_000)

test('a new key: what was signed before is honoured for its time, and it works without a gateway', async () => {
  const { url } = await upload('another poem', 'two.txt')
  expect((await home.parley(['attachments', 'rotate-key'])).stdout).toContain('new key')
  expect((await fetch(url)).status).toBe(200)
  await gateway.kill()
  expect((await home.parley(['attachments', 'list'])).stdout).toMatch(/two\.txt/)
  expect((await home.parley(['attachments', 'rotate-key', '--json'])).stdout).toBe('{"ok":true}\n')
  gateway = await home.start()
}, 180_000)

/** As a client that resolves nothing sends it. */
async function rawGet(path: string): Promise<{ status: number; code: string }> {
  const { hostname, port } = new URL(gateway.url)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ hostname, port, path }, resolve).on('error', reject)
  })
  const text = Buffer.concat(await response.toArray()).toString()
  return { status: response.statusCode ?? 0, code: JSON.parse(text).error.code }
}

test('a handle is judged as it was received, before anybody resolves or decodes its path', async () => {
  const { url, path } = await upload('a third poem', 'three.txt')
  const { search } = new URL(url)
  const object = '/storage/v1/object/sign/local-files'
  const refused = { status: 400, code: expect.stringMatching(/^SU_(TRAVERSAL|PATH_ENCODING)$/) }
  for (const raw of [
    `${object}/x/../${path}`,
    `${object}/%2e%2e/local-files/${path}`,
    `${object}/${path.replace('/', '%2f')}`,
  ])
    expect(await rawGet(`${raw}${search}`)).toEqual(refused)
  expect((await fetch(url)).status).toBe(200)
})
