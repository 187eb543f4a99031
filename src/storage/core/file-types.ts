/** The content type of each kind of file that callers read at signed addresses, by the ending of its name. */
export const servedTypes = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  mp4: 'video/mp4',
  mp3: 'audio/mpeg',
} as const;

/** The content type of every file. Files of the two added types never have a URL. */
export const contentTypes = { ...servedTypes, json: 'application/json', bin: 'application/octet-stream' } as const;

export type FileType = keyof typeof contentTypes;

/** 43 random characters, which cannot be guessed, and an ending for the type. For files that have addresses. */
export const fileNamePattern = new RegExp(`^[A-Za-z0-9_-]{43}\\.(${Object.keys(servedTypes).join('|')})$`);

/** The type that a valid name ends with. */
export const typeOf = (name: string): FileType => name.slice(name.lastIndexOf('.') + 1) as FileType;
