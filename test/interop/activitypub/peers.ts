// Starts a server nobody here wrote in a process of its own, and asks it what it was told.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Peer, provePeer } from '../peer.ts'
import { endPeer, portOf } from '../peer-process.ts'

export type Told = {
  readonly told: readonly { readonly [key: string]: unknown }[]
  /** What each POST was answered. */
  readonly statuses: readonly number[]
}

/** Something that somebody at the peer does. `inboxes`: it goes to these, all at once; without them the peer finds its readers. */
export type Deed = {
  readonly type: string
  readonly object: string | { readonly [key: string]: unknown }
  readonly to: readonly string[]
  readonly cc?: readonly string[]
  readonly inboxes?: readonly string[]
}

/** `statuses`: what each of the named inboxes answered. */
export type Done = { readonly id: string; readonly object: string; readonly statuses: readonly number[] }

export type ServerPeer = {
  readonly origin: string
  told(): Promise<Told>
  act(deed: Deed): Promise<Done>
  /** The status of what somebody there asks for, signed by them. */
  read(url: string): Promise<number>
  /** Nothing was told so far. */
  forget(): Promise<void>
  /** When so many things were told: some are told after the answer. */
  toldOf(count: number): Promise<Told>
  stop(): Promise<void>
}

const longestMs = 15_000
const nearNames = new URL('./near-names.mjs', import.meta.url).href

/** It has shown the document of `person`, a path. */
export async function findServer(
  program: string,
  packageName: string,
  person: string,
): Promise<Peer<() => Promise<ServerPeer>>> {
  const problem = process.env['PARLEY_INTEROP_PROBLEM']
  if (problem !== undefined) return { problem: `${packageName}: ${problem}` }
  const installed = existsSync(fileURLToPath(new URL(`../node_modules/${packageName}`, import.meta.url)))
  if (!installed) return { problem: `${packageName} is not installed; npm run test:all does it` }
  const start = () => startServer(fileURLToPath(new URL(program, import.meta.url)))
  return provePeer(packageName, { module: start }, () => askForPerson(start, person))
}

export async function askForPerson(start: () => Promise<ServerPeer>, person: string): Promise<void> {
  const peer = await start()
  try {
    const response = await fetch(peer.origin + person, { headers: { accept: 'application/activity+json' } })
    const { inbox } = (await response.json()) as { readonly inbox?: unknown }
    if (typeof inbox !== 'string') throw new Error(`it answered ${response.status} without a document of ${person}`)
  } finally {
    await peer.stop()
  }
}

/** Asks until so much is there. */
export function toldBy(told: () => Promise<Told>): Pick<ServerPeer, 'told' | 'toldOf'> {
  return {
    told,
    async toldOf(count) {
      for (const until = Date.now() + longestMs; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
        const now = await told()
        if (now.told.length >= count || Date.now() > until) return now
      }
    },
  }
}

async function startServer(program: string): Promise<ServerPeer> {
  const child = spawn(process.execPath, ['--import', nearNames, program], { stdio: ['ignore', 'pipe', 'pipe'] })
  const origin = `http://127.0.0.1:${await portOf(child)}`
  return {
    origin,
    ...toldBy(async () => (await (await fetch(`${origin}/told`)).json()) as Told),
    async act(deed) {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${origin}/act`, { method: 'POST', headers, body: JSON.stringify(deed) })
      if (!response.ok) throw new Error(`the peer answered ${response.status}`)
      return (await response.json()) as Done
    },
    async read(url) {
      const response = await fetch(`${origin}/read?url=${encodeURIComponent(url)}`)
      return Number(await response.text())
    },
    async forget() {
      await fetch(`${origin}/forget`)
    },
    stop: () => endPeer(child),
  }
}
