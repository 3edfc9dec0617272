// A gateway at work whose agents keep what they are asked, and everything of it that anybody can read.
import { request as httpRequest } from 'node:http'
import { type Agent, defineAgent } from '../../../src/agent/agent.ts'
import { createPinnedFetch } from '../../../src/node/guarded-fetch.ts'
import type { Database } from '../../../src/storage/database.ts'
import { type FediverseGateway, startFediverseGateway } from '../../doubles/fediverse-gateway.ts'
import './near-names.mjs'

/** `before`: how much of the conversation the agent was shown. */
export type Turn = { readonly agent: string; readonly said: string; readonly before: number }

/** A request as it came to an inbox. */
export type Posted = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
}

export type Story = FediverseGateway & {
  readonly turns: Turn[]
  readonly posted: Posted[]
}

/** Its readers ask in public unless they say what stays between them. */
export const words = { secret: 'marmalade', changed: 'persimmon', answer: 'quince', open: 'apricot' } as const

export async function startStory(database: Database, peer: string): Promise<Story> {
  const turns: Turn[] = []
  const posted: Posted[] = []
  const agent = (slug: string): Agent =>
    defineAgent({
      slug,
      run({ parts, history }) {
        const said = JSON.stringify(parts)
        turns.push({ agent: slug, said, before: history?.length ?? 0 })
        return said.includes(words.secret) ? `between us: ${words.answer}` : `for everybody: ${words.open}`
      },
    })
  // Everybody is on this machine.
  const guardedFetch = createPinnedFetch({ resolve: async () => ['127.0.0.1'], isPublic: () => true })
  const gateway = await startFediverseGateway(
    database,
    { guardedFetch, origins: () => [peer] },
    {
      agents: [agent('demo'), agent('helper')],
      hosts: [],
      watch(request) {
        if (request.method !== 'POST') return
        const headers = Object.fromEntries(request.headers)
        void request
          .arrayBuffer()
          .then((bytes) => posted.push({ url: request.url, headers, bytes: Buffer.from(bytes) }))
      },
    },
  )
  return { ...gateway, turns, posted }
}

/** The same bytes under the same headers once more; answers the status. */
export function postAgain({ url, headers, bytes }: Posted): Promise<number> {
  const { connection: _connection, ...rest } = headers
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', headers: rest }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', reject)
    request.end(bytes)
  })
}

type Read = { readonly url: string; readonly status: number; readonly text: string }

const forms = ['application/activity+json', 'text/html'] as const

async function readAt(url: string): Promise<readonly Read[]> {
  return Promise.all(
    forms.map(async (accept) => {
      const response = await fetch(url, { headers: { accept } })
      return { url, status: response.status, text: await response.text() }
    }),
  )
}

/** Documents, collections with all their pages, pages for people, and these notes, in both forms. */
export async function publicPlaces({ origin, actor }: Story, notes: readonly string[]): Promise<readonly Read[]> {
  const us = actor('demo')
  const lists = ['outbox', 'followers', 'following', 'featured'].map((name) => `${us}/${name}`)
  const acct = `acct:demo@${new URL(origin).host}`
  const others = [`${origin}/@demo`, `${origin}/nodeinfo/2.1`, `${origin}/.well-known/webfinger?resource=${acct}`]
  const read = (await Promise.all([us, ...lists, ...others, ...notes].map(readAt))).flat()
  return [...read, ...(await pagesOf(`${us}/outbox?page=true`))]
}

async function pagesOf(first: string): Promise<readonly Read[]> {
  const pages: Read[] = []
  for (let url: string | undefined = first; url !== undefined; ) {
    const [page] = await readAt(url)
    if (page === undefined) return pages
    pages.push(page)
    url = (JSON.parse(page.text) as { readonly next?: string }).next
  }
  return pages
}
