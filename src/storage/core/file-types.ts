/** The content type of each kind of file, by the ending of its name. */
export const contentTypes = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  mp4: 'video/mp4',
  mp3: 'audio/mpeg',
} as const;

export type FileType = keyof typeof contentTypes;

/** 43 random characters, which nobody can guess, and an ending that says the type. */
export const fileNamePattern = new RegExp(`^[A-Za-z0-9_-]{43}\\.(${Object.keys(contentTypes).join('|')})$`);

/** The type that a valid name ends with. */
export const typeOf = (name: string): FileType => name.slice(name.lastIndexOf('.') + 1) as FileType;
