// The model of the crash test `cancel`: asks for a long list of tool calls at once, for one that needs consent, or falls silent in
// the middle of a sentence, as the message wants it.
import {
  type ModelRequestBody,
  type ScriptedAnswer,
  type ScriptedModelServer,
  startScriptedModel,
} from '../doubles/scripted-model-server.ts'

/** Far more than are done before somebody can say stop. */
const longList = 200
export const shortList = 10

export async function startCancelModel(): Promise<ScriptedModelServer> {
  const server = await startScriptedModel()
  server.answerBy(answerTo)
  return server
}

function answerTo({ messages }: ModelRequestBody): ScriptedAnswer {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const [, kind = '', id = ''] = String(messages[asked]?.content).trim().split(' ')
  if (messages.slice(asked).some(({ role }) => role === 'tool')) return { text: `saw ${id}` }
  if (id.startsWith('stream')) return { text: 'Once upon a time there was', cutAfter: 3, cutBy: 'silence' }
  const count = id.startsWith('foreign') ? shortList : kind === 'asked' ? 1 : longList
  const calls = Array.from({ length: count }, (_, index) => ({
    id: `call-${index + 1}`,
    name: `steps__${kind}`,
    arguments: JSON.stringify({ zone: 'north', number: index + 1, id, note: {} }),
  }))
  return { calls }
}
