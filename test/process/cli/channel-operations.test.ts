// Commands of a channel that ask the gateway, as built: beside a running one, and without one.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHome, type Home, type Running } from './parley.ts'

const library = pathToFileURL(fileURLToPath(new URL('../../../dist/index.js', import.meta.url))).href
let home: Home
let gateway: Running

beforeAll(async () => {
  home = await createHome({ PARLEY_PUBLIC_URL: 'https://agents.example', EMAIL_CHANNEL: 'off' })
  await writeFile(
    join(home.folder, 'parley.config.mjs'),
    `import { activitypub, defineAgent, defineConfig } from ${JSON.stringify(library)}
export default defineConfig({
  agents: [defineAgent({ slug: 'demo', run: () => 'yes' })],
  connections: [activitypub({ follow: 'manual' })],
})`,
  )
  gateway = await home.start()
}, 120_000)
afterAll(() => home.close(), 60_000)

const rotate = (...words: string[]) => home.parley(['activitypub', 'keys', 'rotate', 'instance', '--yes', ...words])

test('the start says by which names the agents are mentioned', () => {
  expect(gateway.output()).toContain('activitypub/default -> demo (public); mention @demo@agents.example\n')
})

test('channel commands are groups of their own with a fallback, and keep what asks no gateway', async () => {
  expect(await home.parley(['activitypub', 'requests'])).toEqual({
    code: 0,
    stdout: 'There are no follow requests.\n',
    stderr: '',
  })
  expect(await home.json(['activitypub', 'followers', 'list'])).toEqual({ followers: [], next: null })
  const unknown = await home.parley(['activitypub', 'requests', 'forget'])
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('knows list, accept, reject') })
  expect((await home.parley(['activitypub', 'check', 'nobody'])).stderr).toContain('write it as @agent@host')
}, 120_000)

test('channel commands end with the code that says how it went', async () => {
  const accept = ['activitypub', 'requests', 'accept', 'https://social.example/users/alice']
  expect(await home.parley(accept)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('no follow request of this name'),
  })
  const elsewhere = await home.parley(['activitypub', 'requests', '--connection', 'other'])
  expect(elsewhere).toMatchObject({ code: 3, stderr: expect.stringContaining('there are activitypub/default') })
  expect((await home.parley(['activitypub', 'followers', '--limit', '0'])).code).toBe(2)
  const unasked = await home.parley(['activitypub', 'keys', 'rotate', 'instance'])
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') })
}, 120_000)

test('change a running gateway once, say which row it was, and go on without it', async () => {
  const { code, stdout } = await rotate('--json')
  const done = JSON.parse(stdout) as { readonly id: string }
  expect({ code, done }).toMatchObject({ code: 0, done: { generation: 2, told: 0, isRepeat: false } })
  expect((await home.parley(['explain', done.id])).stdout).toContain('keys_rotated')
  expect(await rotate()).toMatchObject({ code: 3, stderr: expect.stringContaining('add --again') })
  await gateway.kill()
  const offline = await rotate('--again')
  expect(offline).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/#main-key-3 from now on.*What is to be sent waits for a gateway\.\n$/),
  })
  const { lines } = (await home.json(['audit', 'list', '--action', 'channel.operate'])) as {
    lines: readonly { outcome: string; code: string | null }[]
  }
  expect(lines.filter(({ code }) => code !== 'bad_request').map(({ outcome }) => outcome)).toEqual([
    'done',
    'refused',
    'done',
    'refused',
  ])
}, 180_000)
