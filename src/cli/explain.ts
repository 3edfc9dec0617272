// `parley explain <id>`: what became of a message, told by the running gateway.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineCommand } from 'citty'
import type { Config } from '../config.ts'
import type { Explanation } from '../operator/explain.ts'
import type { Hit } from '../operator/explain-store.ts'
import { loadFromDisk, orExit } from './load.ts'
import { renderCandidates, renderStory, type StoryLook } from './render-story.ts'

/** What the route answers: the story, or what the id may mean. */
type ExplainAnswer = { readonly explanation: Explanation } | { readonly candidates: readonly Hit[] }

/** Also when several things go by the id: it is for the operator to choose. */
const failedCode = 1
const notFoundCode = 3

export const explainCommand = defineCommand({
  meta: {
    name: 'explain',
    description: 'Tell what became of a message: receipt, sender, turns, sends, and what to do.',
  },
  args: {
    id: {
      type: 'positional',
      required: true,
      description: 'Inbox, turn or outbox id, message id, platform id, delivery id, vendor id',
    },
    connection: { type: 'string', description: 'Only on this connection, channel/id as the books show it' },
    json: { type: 'boolean', description: 'Print JSON on standard output and nothing else there' },
    config: { type: 'string', description: 'Configuration file (default: parley.config.ts)' },
  },
  run: ({ args }) =>
    orExit(async () => {
      const config = await loadFromDisk(args.config)
      const answer = await call<ExplainAnswer>(config, explainPath(args.id, args.connection))
      if (answer === undefined) return
      process.stdout.write(args.json ? `${JSON.stringify(answer)}\n` : explainText(args.id, answer, terminalLook()))
      if ('candidates' in answer) process.exitCode = failedCode
    }),
})

function explainPath(id: string, connection: string | undefined): string {
  const filter = connection === undefined ? '' : `?connection=${encodeURIComponent(connection)}`
  return `/admin/explain/${encodeURIComponent(id)}${filter}`
}

function explainText(id: string, answer: ExplainAnswer, look: StoryLook): string {
  return 'candidates' in answer ? renderCandidates(id, answer.candidates, look) : renderStory(answer.explanation, look)
}

/** Colour is for eyes: never in a pipe, and not where it is unwanted. */
function terminalLook(): StoryLook {
  const { isTTY, columns } = process.stdout
  const isColourful = isTTY === true && (process.env['NO_COLOR'] ?? '') === ''
  return { isColourful, columns: Math.min(columns ?? 100, 120), now: Date.now() }
}

/** Undefined: there is nothing by that id, and it was said. */
async function call<T>(config: Config, path: string): Promise<T | undefined> {
  const readStored = () => readFile(join(config.dataDir, 'admin-token'), 'utf8').catch(() => '')
  const token = config.adminToken?.reveal() ?? (await readStored())
  const address = `http://${config.host}:${config.port}`
  const headers = { authorization: `Bearer ${token.trim()}` }
  const response = await fetch(address + path, { headers }).catch(() => undefined)
  if (response?.ok === true) return (await response.json()) as T
  process.stderr.write(`parley: ${response === undefined ? noGateway(address) : await remedyOf(response)}\n`)
  process.exitCode = response?.status === 404 ? notFoundCode : failedCode
  return undefined
}

function noGateway(address: string): string {
  return `no gateway answers at ${address}; start one with parley start, or correct PARLEY_HOST and PARLEY_PORT`
}

async function remedyOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => ({}))) as { error?: { remedy?: string } }
  return body.error?.remedy ?? `the gateway answered ${response.status}; its log says why`
}
