// Text with ranges: formatting beside the words instead of in them, so that no word can become markup.

/** `offset` and `length` are UTF-16 units. */
export type Entity =
  | {
      readonly type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'blockquote'
      readonly offset: number
      readonly length: number
    }
  | { readonly type: 'pre'; readonly offset: number; readonly length: number; readonly language?: string }
  | { readonly type: 'text_link'; readonly offset: number; readonly length: number; readonly url: string }

export type EntityPiece = { readonly text: string; readonly entities: readonly Entity[] }
