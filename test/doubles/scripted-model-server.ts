// A server that speaks the chat completions API and answers from a script, one entry per request.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ScriptedCall = { readonly id: string; readonly name: string; readonly arguments: string }

export type ScriptedAnswer =
  | {
      readonly text?: string
      readonly calls?: readonly ScriptedCall[]
      /** Only so many frames; then the line goes dead, ends in good order, or stays silent. */
      readonly cutAfter?: number
      readonly cutBy?: 'reset' | 'end' | 'silence'
      readonly finish?: string
      /** Waited for before each frame, by its number, as for a model that thinks while it speaks. */
      readonly thinks?: (frame: number) => Promise<void>
      readonly hasUsage?: false
    }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** Never answers. */
  | { readonly hang: true }

export type ModelRequestBody = {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content?: unknown; readonly [more: string]: unknown }[]
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[]
}

export type ScriptedModelServer = {
  readonly baseUrl: string
  readonly requests: ModelRequestBody[]
  /** The next answers; the last one repeats for ever. */
  readonly script: (...answers: readonly ScriptedAnswer[]) => void
  /** Every answer is made of what was asked. */
  readonly answerBy: (answer: (asked: ModelRequestBody) => ScriptedAnswer) => void
  readonly close: () => Promise<void>
}

export async function startScriptedModel(): Promise<ScriptedModelServer> {
  const requests: ModelRequestBody[] = []
  let answerTo: (asked: ModelRequestBody) => ScriptedAnswer = () => ({ status: 500 })
  const server = createServer((request, response) => {
    // The gateway asks which models there are to learn whether its key is taken: nothing of the script.
    if (request.method === 'GET') return void response.end('{"data":[]}')
    readBody(request).then(
      (body) => {
        const asked = JSON.parse(body) as ModelRequestBody
        requests.push(asked)
        send(response, answerTo(asked))
      },
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    script(...answers) {
      let next = 0
      answerTo = () => {
        next += 1
        return answers[Math.min(next, answers.length) - 1] ?? { status: 500 }
      }
    },
    answerBy(answer) {
      answerTo = answer
    },
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function send(response: ServerResponse, answer: ScriptedAnswer): void {
  if ('hang' in answer) return
  if ('status' in answer) {
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(answer.body ?? JSON.stringify({ error: { message: 'scripted', type: 'scripted' } }))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const frames = framesOf(answer)
  const { cutAfter: cut, cutBy = 'reset', thinks } = answer
  if (thinks !== undefined) {
    sendSlowly(response, frames, thinks).catch(() => response.destroy())
    return
  }
  for (const frame of cut === undefined ? frames : frames.slice(0, cut)) response.write(frame)
  if (cut === undefined) response.end('data: [DONE]\n\n')
  else if (cutBy === 'end') response.end()
  // What was written is on its way before the line goes dead.
  else if (cutBy === 'reset') setTimeout(() => response.destroy(), 20)
}

async function sendSlowly(
  response: ServerResponse,
  frames: readonly string[],
  thinks: (frame: number) => Promise<void>,
): Promise<void> {
  for (const [number, frame] of frames.entries()) {
    await thinks(number)
    // Whoever asked may be gone.
    if (response.destroyed) return
    response.write(frame)
  }
  response.end('data: [DONE]\n\n')
}

type StreamedAnswer = Exclude<ScriptedAnswer, { status: number } | { hang: true }>

function framesOf(answer: StreamedAnswer): readonly string[] {
  const chunk = (delta: object, more: object = {}): string =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`
  const words = (answer.text ?? '').split(/(?<= )/).filter((word) => word !== '')
  const calls = answer.calls ?? []
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  return [
    chunk({ role: 'assistant', content: '' }),
    ...words.map((word) => chunk({ content: word })),
    ...calls.map(({ id, name, arguments: text }, index) =>
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }] }),
    ),
    chunk({}, { finish_reason: answer.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop') }),
    ...(answer.hasUsage === false
      ? []
      : [
          `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [], usage })}\n\n`,
        ]),
  ]
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
