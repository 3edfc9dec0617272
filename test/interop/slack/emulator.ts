// Vercel's emulator of Slack with its events switched on. It has no public way to subscribe: its Slack plugin is wrapped before
// it is started, and a version that hides it otherwise fails here by name.
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { importPeer, provePeer } from '../peer.ts'

type Webhooks = { readonly register: (subscription: object) => unknown }
type Plugin = { register: (app: unknown, store: unknown, webhooks: Webhooks, ...rest: unknown[]) => unknown }
type Emulator = { readonly url: string; readonly close: () => Promise<void> }
type Api = { readonly createEmulator: (options: object) => Promise<Emulator> }

/** The name is also that of another package; ours is the one that says so. */
const imported = await importPeer('emulate', async () => {
  const entry = join(dirname(createRequire(import.meta.url).resolve('../package.json')), 'node_modules/emulate')
  const { version } = JSON.parse(readFileSync(join(entry, 'package.json'), 'utf8')) as { version: string }
  if (version !== '0.12.2') throw new Error(`emulate is ${version}, not 0.12.2`)
  const folder = join(entry, 'dist')
  const file = readdirSync(folder).find(
    (name) => name.endsWith('.js') && /^ {2}slackPlugin$/m.test(readFileSync(join(folder, name), 'utf8')),
  )
  if (file === undefined) throw new Error('its Slack plugin is not where it was')
  const load = (path: string): Promise<unknown> => import(/* @vite-ignore */ pathToFileURL(path).href)
  const { slackPlugin } = (await load(join(folder, file))) as { slackPlugin: Plugin }
  const { createEmulator } = (await load(join(folder, 'api.js'))) as Api
  return { slackPlugin, createEmulator }
})

export type Emulate = Extract<typeof imported, { module: unknown }>['module']

/** It has answered auth.test. */
export const emulate = await provePeer('emulate', imported, async (module) => {
  const tokens = [{ token: 'xoxp-ada', type: 'user', user: 'ada' }]
  const emulator = await startSlackEmulator(module, { users: [{ name: 'ada' }], tokens }, 'http://127.0.0.1:9/')
  try {
    const headers = { authorization: 'Bearer xoxp-ada' }
    const response = await fetch(`${emulator.url}/api/auth.test`, { method: 'POST', headers })
    const { ok, error } = (await response.json()) as { readonly ok?: boolean; readonly error?: string }
    if (ok !== true) throw new Error(`auth.test answered ${response.status} ${error}`)
  } finally {
    await emulator.close()
  }
})

export async function startSlackEmulator(
  { slackPlugin, createEmulator }: Emulate,
  seed: object,
  eventsUrl: string,
): Promise<Emulator> {
  const { register } = slackPlugin
  let hooks: Webhooks | undefined
  slackPlugin.register = (app, store, webhooks, ...rest) => {
    hooks = webhooks
    return register.call(slackPlugin, app, store, webhooks, ...rest)
  }
  try {
    const emulator = await createEmulator({ service: 'slack', port: 0, seed: { slack: seed } })
    if (hooks === undefined) throw new Error('the emulator did not start its Slack plugin')
    hooks.register({ url: eventsUrl, events: ['*'], active: true, owner: 'slack' })
    return emulator
  } finally {
    slackPlugin.register = register
  }
}
