// Server-sent events of a response, one parsed `data` at a time, within a bound.
import { GatewayError } from '../../contract/index.ts'

export async function* readEvents(response: Response, maxBytes: number): AsyncGenerator<unknown> {
  const decoder = new TextDecoder()
  let buffer = ''
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw agentAnswerTooLarge()
    buffer += decoder.decode(chunk, { stream: true })
    const events = buffer.split(/\r?\n\r?\n/)
    buffer = events.pop() ?? ''
    for (const event of events) {
      const data = eventData(event)
      if (data !== undefined) yield JSON.parse(data)
    }
  }
}

function eventData(event: string): string | undefined {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'))
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(5).trimStart()).join('\n')
}

function agentAnswerTooLarge(): GatewayError {
  return new GatewayError('agent_failed', '[agent] the remote agent said more than it may')
}
