// What a store's own signed URL lets a browser do: pictures are shown, all else is saved. By the key's ending, which we
// chose from the bytes.

const pictureKey = /\.(?:png|jpg|gif|webp|avif|bmp)$/

export function isShownInPlace(key: string): boolean {
  return pictureKey.test(key)
}

export function signedDisposition(key: string): string {
  return isShownInPlace(key) ? 'inline' : 'attachment'
}
