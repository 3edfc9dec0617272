// The corpus: answers as models write them. Some written by hand, some put together from their parts, some far too long.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '../../../chaos/seeded-random.ts'
import { makeParagraph, makers } from './blocks-of-answers.ts'

export type Answer = { readonly name: string; readonly markdown: string }

const seed = 20_261_117
const composedCount = 130

/** `folder` is where the written ones are; the same answers in the same order every time. */
export function corpusAnswers(folder: string): readonly Answer[] {
  return [...writtenAnswers(folder), ...composedAnswers(), ...longAnswers()]
}

/** Files of answers, each after a line with its name. */
function writtenAnswers(folder: string): readonly Answer[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.txt'))
  return files.sort().flatMap((file) => {
    const [, ...parts] = readFileSync(join(folder, file), 'utf8').split(/^=== (.+)\n/m)
    return Array.from({ length: parts.length / 2 }, (_, at) => ({
      name: parts[at * 2] ?? '',
      markdown: (parts[at * 2 + 1] ?? '').replace(/\n$/, ''),
    }))
  })
}

function composedAnswers(): readonly Answer[] {
  const random = seededRandom(seed)
  return Array.from({ length: composedCount }, (_, at) => {
    const blocks = Array.from({ length: random.between(2, 12) }, () => random.pick(makers)(random))
    return { name: `composed-${at + 1}`, markdown: blocks.join(random.between(0, 9) === 0 ? '\n' : '\n\n') }
  })
}

/** Longer than one message of any platform. */
function longAnswers(): readonly Answer[] {
  const random = seededRandom(seed + 1)
  const lines = (count: number, line: (at: number) => string) => Array.from({ length: count }, (_, at) => line(at + 1))
  const words = (count: number) => lines(count, (at) => `word${at}`).join(' ')
  return [
    {
      name: 'long-code',
      markdown: `Here:\n\n\`\`\`py\n${lines(600, (at) => `print("line ${at}: <&> \`x\`")`).join('\n')}\n\`\`\`\n\nEnd.`,
    },
    { name: 'long-code-line', markdown: `\`\`\`\n${'0123456789'.repeat(900)}\n\`\`\`` },
    { name: 'long-list', markdown: lines(400, (at) => `${at}. item number ${at} of **many**`).join('\n') },
    {
      name: 'long-nested-list',
      markdown: lines(300, (at) => `${'  '.repeat(at % 5)}- level ${at % 5}, item ${at}`).join('\n'),
    },
    {
      name: 'long-table',
      markdown: `| n | name | link |\n|--:|---|---|\n${lines(200, (at) => `| ${at} | row ${at} | [x${at}](https://x.example/${at}) |`).join('\n')}`,
    },
    { name: 'long-quote', markdown: lines(300, (at) => `> quoted line ${at}, with *words*`).join('\n') },
    { name: 'long-bold', markdown: `**${words(2_000)}**` },
    { name: 'long-link-label', markdown: `[${words(1_200)}](https://x.example/long)` },
    { name: 'long-paragraph', markdown: `${words(3_000)}.` },
    { name: 'long-word', markdown: `before ${'x'.repeat(9_000)} after` },
    { name: 'long-emoji', markdown: '👩‍👩‍👧‍👦'.repeat(800) },
    { name: 'long-chinese', markdown: '没有空格的很长的一段中文，'.repeat(500) },
    { name: 'long-inline-code', markdown: `\`${words(1_500)}\`` },
    { name: 'long-headings', markdown: lines(120, (at) => `## Heading ${at}\n\nText ${at}.`).join('\n\n') },
    { name: 'many-links', markdown: lines(250, (at) => `[link ${at}](https://x.example/${at}?a=1&b=2)`).join(', ') },
    { name: 'many-marks', markdown: lines(500, (at) => `**b${at}** *i${at}* \`c${at}\``).join(' ') },
    { name: 'many-rules', markdown: lines(80, (at) => `Part ${at}.\n\n---`).join('\n\n') },
    { name: 'deep-quotes', markdown: lines(40, (at) => `${'> '.repeat(at)}level ${at}`).join('\n') },
    { name: 'deep-lists', markdown: lines(40, (at) => `${'  '.repeat(at - 1)}- level ${at}`).join('\n') },
    { name: 'long-mixture', markdown: lines(60, () => random.pick(makers)(random)).join('\n\n') },
    { name: 'long-report', markdown: lines(40, (at) => `### Part ${at}\n\n${makeParagraph(random)}`).join('\n\n') },
  ]
}
