// Rich messages as they are sent: the blocks and words a reply can have.

export type RichWords =
  | string
  | readonly RichWords[]
  | { readonly type: 'bold' | 'italic' | 'strikethrough' | 'code'; readonly text: RichWords }
  | { readonly type: 'url'; readonly text: RichWords; readonly url: string }
  | { readonly type: 'mention'; readonly text: RichWords; readonly username: string }

type RichCell = {
  readonly text: RichWords
  readonly is_header?: true
  readonly align: 'left' | 'center' | 'right'
  readonly valign: 'top'
}

type RichItem = {
  readonly blocks: readonly RichBlock[]
  readonly has_checkbox?: true
  readonly is_checked?: true
  readonly value?: number
  readonly type?: '1'
}

export type RichBlock =
  | { readonly type: 'paragraph'; readonly text: RichWords }
  | { readonly type: 'heading'; readonly size: 1 | 2 | 3 | 4 | 5 | 6; readonly text: RichWords }
  | { readonly type: 'pre'; readonly text: string; readonly language?: string }
  | { readonly type: 'blockquote'; readonly blocks: readonly RichBlock[] }
  | { readonly type: 'list'; readonly items: readonly RichItem[] }
  | {
      readonly type: 'table'
      readonly cells: readonly (readonly RichCell[])[]
      readonly is_bordered: true
      readonly is_striped: true
    }
  | { readonly type: 'divider' }

export type RichMessage = { readonly blocks: readonly RichBlock[]; readonly skip_entity_detection: true }
