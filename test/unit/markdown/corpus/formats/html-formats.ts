// Both halves of a mail, and posts.

import { type Note, renderNoteThread } from '../../../../../adapters/activitypub/render/note.ts'
import { type MailBody, renderMail } from '../../../../../adapters/email/render/body.ts'
import { readHtml } from '../../read-html.ts'
import { faceOf, type Shown, sizeProblems } from './shown.ts'

const noteLimit = 500

export const mailHtml = faceOf((root) => renderMail(root), mailHtmlShown)
export const mailText = faceOf((root) => renderMail(root), mailTextShown)
export const note = faceOf((root) => renderNoteThread(root, { limit: noteLimit }), noteShown)

function mailHtmlShown({ html }: MailBody): Shown {
  const { text, links, repaired, used } = readHtml(html)
  const active = [...used].filter((each) =>
    /^(?:script|style|iframe|img|svg|object|form|base)\b|@(?:on|src|srcset|class$)/.test(each),
  )
  return { visible: text, targets: links, refused: [...repaired, ...active], live: [] }
}

function mailTextShown({ text }: MailBody): Shown {
  const lines = text.split('\n')
  return {
    visible: text,
    targets: [],
    refused: lines.filter((line) => /\r|^From |[ \t]$/.test(line)),
    live: [],
  }
}

function noteShown(notes: readonly Note[]): Shown {
  const read = notes.map(({ html }) => readHtml(html))
  const text = read.map((each) => each.text).join('\n')
  return {
    visible: text,
    targets: read.flatMap(({ links }) => links),
    refused: [
      ...read.flatMap(({ repaired }) => repaired),
      ...read.flatMap(({ used }) => [...used].filter((each) => !noteTags.has(each))),
      ...notes.flatMap(({ plainLength, html }) => [
        ...sizeProblems(plainLength, noteLimit, html),
        ...(new TextEncoder().encode(html).length > 60_000 ? ['too many bytes'] : []),
      ]),
    ],
    live: notes.flatMap(({ html }) => html.match(/class="[^"]*mention[^"]*"/g) ?? []),
  }
}

const noteTags = new Set(
  'p br a a@href a@rel a@target span strong em del code pre blockquote ul ol ol@start li'.split(' '),
)
