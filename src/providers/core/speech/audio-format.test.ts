import { expect, test } from '@jest/globals';
import { audioFormatOf } from './audio-format.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');

test.each<[string, Buffer, string | undefined]>([
  ['ID3', bytes('ID3\x04\0'), 'mp3'],
  ['a frame of MPEG 1 layer 3', bytes('\xff\xfb\x90\x00'), 'mp3'],
  ['a frame of MPEG 2 layer 2', bytes('\xff\xf4\x90\x00'), 'mp3'],
  ['a frame of MPEG 2.5', bytes('\xff\xe3'), 'mp3'],
  ['a reserved version', bytes('\xff\xeb'), undefined],
  ['AAC in ADTS', bytes('\xff\xf1\x50\x80'), undefined],
  ['MP4', bytes('\0\0\0\x20ftypisom'), 'mp4'],
  ['WAV', bytes('RIFF\x24\0\0\0WAVE'), 'wav'],
  ['AVI', bytes('RIFF\x24\0\0\0AVI '), undefined],
  ['WebM', bytes('\x1a\x45\xdf\xa3'), 'webm'],
  ['Ogg', bytes('OggS'), undefined],
  ['a text', bytes('Hello, world'), undefined],
  ['a start', bytes('\xff'), undefined],
  ['nothing', bytes(''), undefined],
])('%s', (_, head, format) => {
  expect(audioFormatOf(head)).toBe(format);
});
