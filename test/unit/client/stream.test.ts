// The client's side of a stream: events as they come, over whatever chunks, and going on behind the last one after a break.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createClient, readEventStream } from '../../../src/client.ts'

const input = { threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user' as const, content: 'hello' }] }

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}

function chunked(bytes: Uint8Array, cuts: readonly number[]): ReadableStream<Uint8Array> {
  const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].toSorted((a, b) => a - b)
  return new ReadableStream({
    start(controller) {
      for (const [index, place] of places.slice(0, -1).entries())
        controller.enqueue(bytes.slice(place, places[index + 1]))
      controller.close()
    },
  })
}

test('the stream client reads the same events wherever the stream is cut', async () => {
  const text =
    ': hi\r\nid: 1\r\nevent: word\r\ndata: a\r\ndata: é\r\n\r\nid: 2\ndata:{"x":1}\n\n\rdata\r\rid: 3\ndata: lost'
  const expected = [
    { id: '1', event: 'word', data: 'a\né' },
    { id: '2', event: 'message', data: '{"x":1}' },
    { id: '2', event: 'message', data: '' },
  ]
  const bytes = new TextEncoder().encode(text)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(), { maxLength: 20 }), async (cuts) => {
      expect(await collect(readEventStream(chunked(bytes, cuts)))).toEqual(expected)
    }),
  )
})

async function withGateway(
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
  work: (url: string, asked: readonly (string | undefined)[]) => Promise<void>,
): Promise<void> {
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.headers['last-event-id']?.toString())
    request.resume().on('end', () => answer(request, response, asked.length))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

const frame = (id: number, type: string): string => `id: ${id}\ndata: ${JSON.stringify({ type })}\n\n`
/** Every stream says first that it is one; that has no id. */
const opening = `data: ${JSON.stringify({ type: 'RUN_STARTED' })}\n\n`
const begin = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

test('the stream client goes on after a broken line, also between events of one id, tells nothing twice and ends with the run', async () => {
  await withGateway(
    (_request, response, count) => {
      begin(response)
      if (count === 1) response.write(frame(1, 'RUN_STARTED') + frame(2, 'TEXT'), () => response.destroy())
      else if (count === 2) response.end(opening + frame(2, 'TEXT') + frame(3, 'TEXT') + frame(3, 'MORE'))
      else response.end(opening + frame(3, 'TEXT') + frame(3, 'MORE') + frame(3, 'RUN_FINISHED'))
    },
    async (url, asked) => {
      const events = await collect(createClient({ url }).stream(input))
      expect(events.map(({ id, event }) => [id, event.type])).toEqual([
        ['1', 'RUN_STARTED'],
        ['2', 'TEXT'],
        ['3', 'TEXT'],
        ['3', 'MORE'],
        ['3', 'RUN_FINISHED'],
      ])
      expect(asked).toEqual([undefined, '1', '2'])
    },
  )
})

test('the stream client gives up after so many breaks without a word, and at once on a refusal', async () => {
  await withGateway(
    (_request, response) => begin(response).end(),
    async (url, asked) => {
      await expect(collect(createClient({ url }).stream(input, { maxRetries: 1 }))).rejects.toMatchObject({
        code: 'stream_ended',
      })
      expect(asked).toHaveLength(2)
    },
  )
  const problem = JSON.stringify({ code: 'invalid_token', detail: 'no', remedy: 'get one' })
  await withGateway(
    (_request, response) => response.writeHead(401, { 'content-type': 'application/problem+json' }).end(problem),
    async (url, asked) => {
      await expect(collect(createClient({ url }).stream(input))).rejects.toMatchObject({
        status: 401,
        code: 'invalid_token',
      })
      expect(asked).toHaveLength(1)
    },
  )
})

test('the stream client stops when it is told to', async () => {
  await withGateway(
    (_request, response) => void begin(response).write(frame(1, 'TEXT')),
    async (url) => {
      const stop = new AbortController()
      const listen = async () => {
        for await (const { event } of createClient({ url }).stream(input, { signal: stop.signal })) {
          expect(event.type).toBe('TEXT')
          stop.abort()
        }
      }
      await expect(listen()).rejects.toMatchObject({ name: 'AbortError' })
    },
  )
})
