// Content that is neither words nor a file, said in words: places, people, polls, dice, lists. Pure.
import { cleanName, type KnownPart, textPart } from '../../../src/contract/index.ts'
import {
  checklistSchema,
  contactSchema,
  diceSchema,
  locationSchema,
  pollSchema,
  stickerSchema,
  venueSchema,
} from '../wire/content.ts'
import { contentFields } from '../wire/fields.ts'
import { richMessageText } from './rich.ts'

/** A message, or what another one says about it. */
type Carrier = Readonly<Record<string, unknown>>

/** Undefined: there is nothing but words. What cannot be read is named all the same, so that no message is empty. */
export function contentPart(message: Carrier): KnownPart | undefined {
  const field = contentFields.find((each) => message[each] !== undefined)
  if (field === undefined) return undefined
  const rich = field === 'rich_message' ? richMessageText(message[field]) : ''
  if (rich !== '') return textPart(rich, 'text/markdown')
  const words = contentReaders[field]?.(message[field]) ?? ''
  return textPart(`[${field.replaceAll('_', ' ')}]${words === '' ? '' : ` ${words}`}`)
}

/** What a sticker says; its picture alone tells an agent little. */
export function stickerParts(message: Carrier): readonly KnownPart[] {
  const emoji = stickerSchema.safeParse(message['sticker']).data?.emoji
  return emoji === undefined ? [] : [textPart(`[sticker ${emoji}]`)]
}

const contentReaders: Readonly<Record<string, (value: unknown) => string>> = {
  location(value) {
    const place = locationSchema.safeParse(value).data
    return place === undefined ? '' : `${coordinatesText(place)}${place.live_period === undefined ? '' : ' (live)'}`
  },
  venue(value) {
    const venue = venueSchema.safeParse(value).data
    return venue === undefined
      ? ''
      : `${cleanName(venue.title)}, ${cleanName(venue.address)} (${coordinatesText(venue.location)})`
  },
  contact(value) {
    const contact = contactSchema.safeParse(value).data
    if (contact === undefined) return ''
    return `${cleanName(`${contact.first_name} ${contact.last_name ?? ''}`)}, ${cleanName(contact.phone_number)}`
  },
  poll(value) {
    const poll = pollSchema.safeParse(value).data
    return poll === undefined
      ? ''
      : titledList(
          poll.question,
          poll.options.map(({ text }) => text),
        )
  },
  dice(value) {
    const dice = diceSchema.safeParse(value).data
    return dice === undefined ? '' : `${dice.emoji} ${dice.value}`
  },
  checklist(value) {
    const list = checklistSchema.safeParse(value).data
    if (list === undefined) return ''
    const tasks = list.tasks.map(({ text, completion_date: done }) => `[${done === undefined ? ' ' : 'x'}] ${text}`)
    return titledList(list.title, tasks)
  },
}

function coordinatesText({ latitude, longitude }: { readonly latitude: number; readonly longitude: number }): string {
  return `${latitude}, ${longitude}`
}

function titledList(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((each) => `- ${each.replace(/\s+/g, ' ')}`)].join('\n')
}
