// What Markdown claims about the repository: paths, commands, environment variables. Claims are checked, prose is not.
import { posix } from 'node:path'

/** What a document may rely on. */
export type Repository = {
  readonly files: readonly string[]
  readonly scripts: ReadonlySet<string>
  readonly commands: ReadonlySet<string>
  /** All source text; an environment variable counts as real when it occurs in it. */
  readonly source: string
}

type Snippet = { readonly text: string; readonly line: number }

const topFolders = /^(src|adapters|test|scripts|bin|docs|drizzle|bench|examples|deploy|\.ci|\.github)\//
const variable = /\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b/g
// Scripts that npm runs without the word "run".
const npmScripts = new Set(['test', 'start', 'stop', 'restart'])

/** Every claim of one document that is not true, with its line. */
export function documentFaults(file: string, markdown: string, repository: Repository): readonly string[] {
  const { inline, fenced } = snippetsOf(markdown)
  const faults = [
    ...linksOf(markdown).flatMap(({ text, line }) => linkFault(file, text, line, repository)),
    ...inline.flatMap((snippet) => [...pathFaults(snippet, repository), ...wholeVariableFaults(snippet, repository)]),
    ...fenced.flatMap((snippet) => assignedVariableFaults(snippet, repository)),
    ...[...inline, ...fenced].flatMap((snippet) => commandFaults(snippet, repository)),
  ]
  return [...new Set(faults)].map((fault) => `${file}:${fault}`)
}

function snippetsOf(markdown: string): { readonly inline: readonly Snippet[]; readonly fenced: readonly Snippet[] } {
  const inline: Snippet[] = []
  const fenced: Snippet[] = []
  let fence: string | undefined
  for (const [index, text] of markdown.split('\n').entries()) {
    const mark = /^\s*(```+|~~~+)/.exec(text)?.[1]
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined
    } else if (fence !== undefined) fenced.push({ text, line: index + 1 })
    else for (const [, span = ''] of text.matchAll(/`([^`]+)`/g)) inline.push({ text: span.trim(), line: index + 1 })
  }
  return { inline, fenced }
}

function linksOf(markdown: string): readonly Snippet[] {
  return markdown.split('\n').flatMap((text, index) =>
    [...text.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s*(\S+)/g)].map((match) => ({
      text: match[1] ?? match[2] ?? '',
      line: index + 1,
    })),
  )
}

function linkFault(file: string, link: string, line: number, repository: Repository): readonly string[] {
  if (/^([a-z][a-z0-9+.-]*:|#|\/\/)/i.test(link)) return []
  const path = posix.join(posix.dirname(file), link.split('#')[0] ?? '')
  return exists(path, repository) ? [] : [`${line} links to ${link}, which does not exist`]
}

function pathFaults({ text, line }: Snippet, repository: Repository): readonly string[] {
  const path = text.replace(/^\.\//, '').replace(/:\d+(-\d+)?$/, '')
  const isClaim = !/\s/.test(path) && (topFolders.test(path) || /^[A-Z][A-Z-]+\.md$/.test(path))
  return !isClaim || exists(path, repository) ? [] : [`${line} names ${text}, which does not exist`]
}

function commandFaults({ text, line }: Snippet, repository: Repository): readonly string[] {
  const faults: string[] = []
  const command = text.replace(/^\s*[$>]\s+/, '')
  for (const [, verb = '', script = ''] of command.matchAll(/\bnpm (?:--?\S+ )*(?:(run) )?([a-z][\w:.-]*)/g)) {
    const isScript = verb === 'run' || npmScripts.has(script)
    if (isScript && !repository.scripts.has(script))
      faults.push(`${line} runs npm script ${script}, which does not exist`)
  }
  for (const [, name = ''] of command.matchAll(/\bnpx (?:--?\S+ )*([@a-z][\w@/.-]*)/g)) {
    const bin = name.replace(/(?<=.)@.*$/, '')
    if (!repository.commands.has(bin)) faults.push(`${line} runs npx ${name}, which this checkout does not have`)
  }
  for (const [, path = ''] of command.matchAll(/(?:^|[\s;&|(])node (?:--?\S+ )*([\w./-]+\.[cm]?[jt]s)\b/g)) {
    const isBuilt = path.replace(/^\.\//, '').startsWith('dist/')
    if (!isBuilt && !exists(posix.normalize(path), repository))
      faults.push(`${line} runs node ${path}, which does not exist`)
  }
  return faults
}

/** Inline code that is a variable or an assignment to one, and nothing else. */
function wholeVariableFaults({ text, line }: Snippet, repository: Repository): readonly string[] {
  const name = /^\$?\{?([A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])\}?(=.*)?$/.exec(text)?.[1]
  return name === undefined ? [] : variableFault(name, line, repository)
}

/** In a code block only what is set or read as a variable: other capitals may be anything. */
function assignedVariableFaults({ text, line }: Snippet, repository: Repository): readonly string[] {
  return [...text.matchAll(variable)].flatMap(({ 0: name, index }) => {
    const before = text.slice(0, index)
    const isSet = text[index + name.length] === '=' && /(^|\s)$/.test(before)
    const isRead = /(\$\{?|process\.env\.|env\.)$/.test(before)
    return isSet || isRead ? variableFault(name, line, repository) : []
  })
}

function variableFault(name: string, line: number, repository: Repository): readonly string[] {
  const isReal = new RegExp(`(?<![A-Z0-9_])${name}(?![A-Z0-9_])`).test(repository.source)
  return isReal ? [] : [`${line} names the variable ${name}, which no source file knows`]
}

/** A placeholder such as `<channel>`, `{name}` or `*` stands for at least one existing file. */
function exists(path: string, repository: Repository): boolean {
  const wanted = path.replace(/\/$/, '')
  if (wanted === '' || wanted === '.') return true
  const pattern = wanted
    .split(/(<[^>]+>|\{[^}]+\}|\*\*\/?|\*)/)
    .map((bit, index) => (index % 2 === 0 ? escaped(bit) : placeholder(bit)))
    .join('')
  const matcher = new RegExp(`^${pattern}(/|$)`)
  return repository.files.some((file) => matcher.test(file))
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function placeholder(bit: string): string {
  if (bit.startsWith('**')) return '(?:.*/)?'
  if (bit.startsWith('{') && bit.includes(',')) return `(?:${bit.slice(1, -1).split(',').map(escaped).join('|')})`
  return '[^/]+'
}
