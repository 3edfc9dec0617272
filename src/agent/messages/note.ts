// A word from the loop to the model. It stands in the transcript and speaks in the user's place, as providers want it, but no
// person wrote it and none is shown it: channels and history leave out what is marked for the model (trap 16).
import type { Envelope, Fields } from '../../contract/index.ts'
import { textLine } from './create.ts'

export function noteLine(type: string, content: string, metadata: Fields = {}): Envelope {
  return textLine('user', content, { ...metadata, type, audience: 'model' })
}

export function isNote(message: Pick<Envelope, 'metadata'>): boolean {
  return message.metadata['audience'] === 'model'
}
