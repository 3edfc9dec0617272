// A model that is told who speaks: the names are put before people's words as they leave for the provider, and what marks them
// stays between the two. The run itself, its transcript and its events hold people's words alone.
import type { Model } from '../loop/model.ts'
import { hasSeveralSpeakers, jsonWithoutMark, nameSpeakers } from '../messages/name-speakers.ts'

export type Speakers = {
  readonly isRoom: boolean
  /** The same for a session as long as its key lives, so that a provider's cache holds. */
  readonly mark: () => Promise<string>
}

export function withSpeakers(model: Model, { isRoom, mark: readMark }: Speakers): Model {
  return async (request) => {
    if (!hasSeveralSpeakers(request.messages, isRoom)) return model(request)
    const mark = await readMark()
    const { lines: messages, note } = nameSpeakers(request.messages, { isRoom, mark })
    const system = [request.system, note].filter((text) => text !== undefined).join('\n\n')
    const { onDelta } = request
    if (onDelta === undefined) return jsonWithoutMark(await model({ ...request, messages, system }), mark)
    const shown = deltasWithoutMark(onDelta, mark)
    const turn = await model({ ...request, messages, system, onDelta: shown.add })
    shown.end()
    // A model that repeats the mark would tell it to all people in the room.
    return jsonWithoutMark(turn, mark)
  }
}

/** The mark may come in pieces: what could become one is held back until it is known. */
function deltasWithoutMark(show: (delta: string) => void, mark: string) {
  const whole = new RegExp(mark, 'gi')
  let held = ''
  return {
    add(delta: string): void {
      const text = `${held}${delta}`.replace(whole, '[removed]')
      const begun = longestMarkPrefix(text.toLowerCase(), mark)
      held = begun === 0 ? '' : text.slice(-begun)
      const rest = text.slice(0, text.length - begun)
      if (rest !== '') show(rest)
    },
    end(): void {
      if (held !== '') show(held)
      held = ''
    },
  }
}

/** How many characters at the end of the text may be the beginning of a mark. */
function longestMarkPrefix(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1)
    if (mark.startsWith(text.slice(-length))) return length
  return 0
}
