// Mails whose words must stay: answers between quotes, forwards, and sentences that only look like something of a program's.
import type { Reply } from './quoted-replies.ts'

const on = 'On Tue, Mar 5, 2024 at 9:12 AM Ann Lee <ann@x.example> wrote:'

export const inlineAnswers: readonly Reply[] = [
  {
    name: 'answers below each question',
    mail: `${on}\n> Shall we meet?\n\nYes.\n\n> Where?\n\nIn the hall.\n\n> Ann\n`,
    text: '> Shall we meet?\n\nYes.\n\n> Where?\n\nIn the hall.',
  },
  {
    name: 'a greeting, then answers',
    mail: `Hi Ann,\n\n${on}\n> Shall we meet?\nYes.\n> Where?\nIn the hall.\n\n-- \nBob`,
    text: 'Hi Ann,\n\n> Shall we meet?\nYes.\n> Where?\nIn the hall.',
  },
  {
    name: 'quotes that somebody chose, without an attribution',
    mail: 'About this:\n\n> the first point\n\nI agree.\n\n> the second point\n\nI do not.',
    text: 'About this:\n\n> the first point\n\nI agree.\n\n> the second point\n\nI do not.',
  },
  {
    name: 'one quote between two paragraphs',
    mail: `Thanks.\n\n${on}\n> Where?\n\nIn the hall.`,
    text: 'Thanks.\n\n> Where?\n\nIn the hall.',
  },
  {
    name: 'deeper quotes inside',
    mail: `${on}\n> > Shall we?\n> Maybe.\n\nPlease do.\n\n> Where?\n\nHere.\n\n> > > Old\n`,
    text: '> > Shall we?\n> Maybe.\n\nPlease do.\n\n> Where?\n\nHere.',
  },
  {
    name: 'all words below one quote, which then says nothing more',
    mail: `${on}\n> Shall we meet?\n>\n> Ann\n\nYes, gladly.\n`,
    text: 'Yes, gladly.',
  },
  {
    name: 'words below a quote that has no attribution',
    mail: '> Shall we meet?\n\nYes, gladly.',
    text: '> Shall we meet?\n\nYes, gladly.',
  },
]

const header =
  'From: Ann Lee <ann@x.example>\nDate: Tue, Mar 5, 2024 at 9:12 AM\nSubject: Thursday\nTo: Bob <bob@x.example>'

/** Nothing is taken off any of them. */
export const forwards: readonly (readonly [name: string, mail: string])[] = [
  ['Gmail', `What do you think?\n\n---------- Forwarded message ---------\n${header}\n\nShall we meet?`],
  ['Apple Mail', `What do you think?\n\nBegin forwarded message:\n\n${header}\n\nShall we meet?`],
  [
    'Apple Mail, as a quote',
    `See below.\n\n> Begin forwarded message:\n>\n> From: Ann\n> Subject: Thursday\n>\n> Shall we meet?`,
  ],
  ['Thunderbird', `See below.\n\n-------- Forwarded Message --------\nSubject: Thursday\n${header}\n\nShall we meet?`],
  [
    'German',
    `Siehe unten.\n\n---------- Weitergeleitete Nachricht ---------\nVon: Ann\nBetreff: Donnerstag\n\nTreffen wir uns?`,
  ],
  ['French', `Voir ci-dessous.\n\nDébut du message transféré :\n\nDe: Ann\nObjet: Jeudi\n\nOn se voit ?`],
  ['Spanish', `Mira.\n\n---------- Mensaje reenviado ---------\nDe: Ann\nAsunto: Jueves\n\n¿Nos vemos?`],
  ['without a comment', `---------- Forwarded message ---------\n${header}\n\nShall we meet?`],
  ['Outlook, without a comment', 'From: Ann Lee\nSent: 05.03.2024 09:12\nTo: Bob\nSubject: Thursday\n\nShall we meet?'],
  [
    'a chain that is handed on',
    `Please handle.\n\n---------- Forwarded message ---------\n${header}\n\nYes\n\n${on}\n> Shall we?`,
  ],
]

/** They look like what programs write, and were written by people. */
export const lookAlikes: readonly (readonly [name: string, mail: string])[] = [
  ['a sentence that begins with On', 'On Monday, at 10:00, I will be there.\n\nOn the other hand: maybe not.\n\nBob'],
  ['somebody who wrote something', 'In 2019 she wrote:\n\nNothing lasts.\n\nI like that.'],
  ['a list of dates', 'Dates:\n\n2024-03-05 09:12\n2024-03-06 10:00\n05.03.2024 09:12\n\nAny of them is fine.'],
  ['fields of a form', 'From: Berlin\nTo: Paris\n\nPlease book it.'],
  ['rules of Markdown', 'One\n\n---\n\nTwo\n\n----\n\nThree\n\n====\n\nFour'],
  ['dashes in the middle', 'Take the first one -- not the second.\n\n-- first this\n-- then that\n\nThanks'],
  ['sent from, as a sentence', 'Sent from my desk, the parcel should be with you by Thursday at the very latest.'],
  ['code with a mark in it', 'Run this:\n\n```\ngit log -- file\necho "-- "\n```\n\nThen tell me.'],
  ['a mark with much below it', `Report:\n\n--\n${Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n')}`],
  ['an address in a sentence that ends in a colon', 'Please write to ann@x.example and tell her:\n\nWe are late.'],
  ['a table', '| a | b |\n|---|---|\n| 1 | 2 |\n\nWhich one?'],
  ['a comparison', '5 > 3\n> 2 is what it says\n\nright?'],
  ['nothing but a quote', '> Shall we meet?\n>\n> Ann'],
  ['nothing but an attribution and its quote', `${on}\n\n> Shall we meet?\n`],
  ['nothing but a signature', 'Sent from my iPhone'],
  ['nothing', ''],
]
