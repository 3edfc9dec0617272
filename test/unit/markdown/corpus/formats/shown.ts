// How a face is looked at: what it makes of Markdown, and what a reader and a platform would see of that.
import { parseMarkdown, type Root } from '../../../../../src/markdown/index.ts'

export type Shown = {
  readonly visible: string
  /** Where links lead, as the platform or a browser reads them. */
  readonly targets: readonly string[]
  /** Limits that are exceeded, in the platform's own unit, and structure it would refuse. */
  readonly refused: readonly string[]
  /** Who would be called although nobody allowed it. */
  readonly live: readonly string[]
}

export type Face = { readonly render: (markdown: string) => unknown; readonly show: (markdown: string) => Shown }

export function faceOf<Rendered>(render: (root: Root) => Rendered, judge: (rendered: Rendered) => Shown): Face {
  return {
    render: (markdown) => render(parseMarkdown(markdown)),
    show: (markdown) => judge(render(parseMarkdown(markdown))),
  }
}

export function sizeProblems(size: number, limit: number, text: string): readonly string[] {
  const isBlank = text.trim() === ''
  return [...(size > limit ? [`${size} of ${limit}`] : []), ...(isBlank ? ['blank'] : [])]
}
