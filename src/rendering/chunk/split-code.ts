// Code that is too long, in two: between lines, and inside a line only when one line is too long.
import { graphemeBoundary } from '../cut-point.ts'
import type { Code } from '../tree.ts'
import { mostThat } from './fit.ts'

export type CodeRoom = {
  readonly fits: (code: Code) => boolean
  readonly maxLength: number
  readonly isForced: boolean
}

export function splitCode(code: Code, { fits, maxLength, isForced }: CodeRoom): readonly [Code, Code] | undefined {
  const window = code.value.slice(0, maxLength)
  const length = mostThat(window.length, maxLength >> 1, (count) => fits({ ...code, value: window.slice(0, count) }))
  if (length === 0) return undefined
  const newline = code.value.lastIndexOf('\n', length)
  if (newline > 0) return parts(code, newline, newline + 1)
  if (!isForced) return undefined
  const space = code.value.lastIndexOf(' ', length - 1) + 1
  const cut = space * 2 > length ? space : graphemeBoundary(code.value, length)
  return parts(code, cut, cut)
}

function parts(code: Code, end: number, start: number): readonly [Code, Code] {
  return [
    { ...code, value: code.value.slice(0, end) },
    { ...code, value: code.value.slice(start) },
  ]
}
