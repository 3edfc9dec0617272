// The model of the crash test `steps`: asks for one tool after the other, and says in the end which of them it was unsure about.
import {
  type ModelRequestBody,
  type ScriptedAnswer,
  type ScriptedModelServer,
  startScriptedModel,
} from '../doubles/scripted-model-server.ts'

export const stepCount = 10

export async function startStepsModel(): Promise<ScriptedModelServer> {
  const server = await startScriptedModel()
  server.answerBy(nextStep)
  return server
}

/** `saw <id>`, and the numbers of the steps whose outcome nobody knows. */
export function finalText(id: string, unknown: readonly number[]): string {
  return unknown.length === 0 ? `saw ${id}` : `saw ${id}, unknown ${unknown.join(' ')}`
}

function nextStep({ messages }: ModelRequestBody): ScriptedAnswer {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const [, kind = '', id = ''] = String(messages[asked]?.content).trim().split(' ')
  const results = messages.slice(asked).filter(({ role }) => role === 'tool')
  if (results.length >= stepCount) return { text: finalText(id, results.flatMap(unknownStep)) }
  const number = results.length + 1
  // In no order a database would keep.
  const parameters = { zone: 'north', number, id, note: { zz: 1, a: 2 } }
  return { calls: [{ id: `call-${number}`, name: `steps__${kind}`, arguments: JSON.stringify(parameters) }] }
}

function unknownStep({ content }: ModelRequestBody['messages'][number], index: number): readonly number[] {
  return String(content).includes('may or may not have happened') ? [index + 1] : []
}
