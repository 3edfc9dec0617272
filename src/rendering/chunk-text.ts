// Splits text into pieces a channel accepts (hop 8). Pure: the same text gives the same pieces on every try.
// Code fences that a cut would tear are closed before it and opened again after it.
import { closesFence, type Fence, trackFence } from './code-fence.ts'
import { cutPoint } from './cut-point.ts'

type Step = { readonly piece: string; readonly rest: string; readonly fence: Fence | undefined }

/** Pieces of at most `limit` UTF-16 units, none of them blank. A single code point wider than the limit stays whole. */
export function chunkText(text: string, limit: number): readonly string[] {
  const pieces: string[] = []
  let step: Step = { piece: '', rest: text, fence: undefined }
  while (step.rest !== '') {
    step = takePiece(step.rest, step.fence, limit)
    if (step.piece.trim() !== '') pieces.push(step.piece)
  }
  return pieces
}

function takePiece(rest: string, open: Fence | undefined, limit: number): Step {
  const prefix = open === undefined ? '' : `${open.reopening}\n`
  const start = open === undefined ? withoutBlankLines : unchanged
  if (prefix.length + rest.length <= limit) return { piece: prefix + start(rest).trimEnd(), rest: '', fence: undefined }
  const { cut, fence } = cutOutsideFences(rest, open, limit, limit - prefix.length)
  const taken = start(rest.slice(0, cut))
  const after = rest.slice(cut)
  if (fence === undefined) return { piece: prefix + taken.trimEnd(), rest: withoutLeadingSpace(after), fence }
  const body = taken.endsWith('\n') ? taken.slice(0, -1) : taken
  return afterClosing(`${prefix}${body}\n${fence.marker}`, after.startsWith('\n') ? after.slice(1) : after, fence)
}

/** The cut, and the fence it tears; when it tears one, the piece still has room for the closing line. */
function cutOutsideFences(
  rest: string,
  open: Fence | undefined,
  limit: number,
  room: number,
): { readonly cut: number; readonly fence: Fence | undefined } {
  for (let reserved = 0; ; ) {
    const cut = cutPoint(rest, Math.max(1, room - reserved))
    const { fence, openedAt } = trackFence(rest.slice(0, cut), open, limit)
    const closing = fence === undefined ? 0 : fence.marker.length + 1
    if (closing > reserved) {
      reserved = closing
      continue
    }
    // A fence that opens on the last line of a piece would show as an empty block: let it start the next piece.
    const isOpenedAtEnd = openedAt > 0 && !rest.slice(openedAt, cut).trimEnd().includes('\n')
    return isOpenedAtEnd ? { cut: openedAt, fence: undefined } : { cut, fence }
  }
}

/** We closed the fence; if the text closes it right here as well, that line has been said. */
function afterClosing(piece: string, after: string, fence: Fence): Step {
  const newline = after.indexOf('\n')
  const line = newline === -1 ? after : after.slice(0, newline)
  if (!closesFence(line, fence)) return { piece, rest: after, fence }
  return { piece, rest: newline === -1 ? '' : after.slice(newline + 1), fence: undefined }
}

function unchanged(text: string): string {
  return text
}

/** Indentation of the first line that says something is kept. */
function withoutBlankLines(text: string): string {
  const lead = text.length - text.trimStart().length
  return text.slice(text.lastIndexOf('\n', lead) + 1)
}

function withoutLeadingSpace(text: string): string {
  const trimmed = withoutBlankLines(text)
  return trimmed.length < text.length ? trimmed : text.trimStart()
}
