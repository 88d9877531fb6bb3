//! The hand that scrubs through an episode: where it stands, whether it plays, and which rows are to be kept. The pictures follow
//! when they have been read.

use crate::runtime::EpisodeView;

/// What is being dragged on the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grip {
    Cursor,
    From,
    To,
}

/// Where the hand stands in the shown episode.
#[derive(Clone, Debug, Default)]
pub struct Player {
    /// The episode and its rows: another one begins anew.
    of: Option<(usize, usize)>,
    fps: f32,
    /// Row, with its fraction while it plays.
    at: f64,
    pub is_playing: bool,
    /// The row that was asked for last.
    asked: Option<usize>,
    /// Rows to keep: from the first, to before the second.
    from: usize,
    to: usize,
    pub grip: Option<Grip>,
    /// The row that the replay on the arm was seen at.
    replayed: Option<usize>,
}

impl Player {
    /// Follows what is shown.
    pub fn follow(&mut self, shown: Option<&EpisodeView>) {
        let Some(shown) = shown else {
            *self = Self::default();
            return;
        };
        let of = Some((shown.index, shown.rows));
        if self.of != of {
            *self = Self {
                of,
                at: shown.row as f64,
                asked: Some(shown.row),
                to: shown.rows,
                ..Self::default()
            };
        }
        self.fps = shown.fps.max(1.0);
    }

    fn rows(&self) -> usize {
        self.of.map_or(0, |(_, rows)| rows)
    }

    fn last(&self) -> usize {
        self.rows().saturating_sub(1)
    }

    /// The row under the cursor.
    pub fn row(&self) -> usize {
        (self.at as usize).min(self.last())
    }

    /// Goes to a row.
    pub fn seek(&mut self, row: usize) {
        self.at = row.min(self.last()) as f64;
    }

    /// Goes to the row at a moment, seconds from the beginning.
    pub fn seek_seconds(&mut self, seconds: f32) {
        self.seek((f64::from(seconds.max(0.0)) * f64::from(self.fps)).round() as usize);
    }

    /// Goes some rows on or back, and stands there.
    pub fn step(&mut self, by: isize) {
        self.is_playing = false;
        self.seek(self.row().saturating_add_signed(by));
    }

    /// Plays or pauses; at the end of what is kept it begins there again.
    pub fn toggle(&mut self) {
        self.is_playing = !self.is_playing;
        if self.is_playing && self.row() + 1 >= self.to {
            self.seek(self.from);
        }
    }

    /// Lets the time of one picture of the window pass.
    pub fn advance(&mut self, seconds: f32) {
        if !self.is_playing {
            return;
        }
        self.at += f64::from(seconds) * f64::from(self.fps);
        let end = self.to.saturating_sub(1);
        if self.at >= end as f64 {
            self.seek(end);
            self.is_playing = false;
        }
    }

    /// Follows a replay of this episode on the arm.
    pub fn follow_replay(&mut self, row: Option<usize>) {
        if let Some(row) = row.filter(|_| row != self.replayed) {
            self.is_playing = false;
            self.seek(self.from + row);
        }
        self.replayed = row;
    }

    /// The row whose pictures are to be read now, once.
    pub fn wanted(&mut self) -> Option<usize> {
        let row = self.row();
        if self.of.is_none() || self.asked == Some(row) {
            return None;
        }
        self.asked = Some(row);
        Some(row)
    }

    /// The rows to keep, `from..to`.
    pub fn range(&self) -> (usize, usize) {
        (self.from, self.to)
    }

    /// Some rows are not to be kept.
    pub fn is_trimmed(&self) -> bool {
        self.range() != (0, self.rows())
    }

    /// Sets the first row to keep; at least one remains.
    pub fn keep_from(&mut self, row: usize) {
        self.from = row.min(self.to.saturating_sub(1));
    }

    /// Sets the row before which what is kept ends.
    pub fn keep_to(&mut self, row: usize) {
        self.to = row.clamp((self.from + 1).min(self.rows()), self.rows());
    }

    /// Keeps all.
    pub fn keep_all(&mut self) {
        (self.from, self.to) = (0, self.rows());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(index: usize, rows: usize) -> EpisodeView {
        EpisodeView {
            index,
            rows,
            fps: 30.0,
            ..EpisodeView::default()
        }
    }

    #[test]
    fn it_plays_at_the_rate_of_the_record_and_stops_at_the_end() {
        let mut player = Player::default();
        player.follow(Some(&shown(0, 90)));
        player.toggle();
        player.advance(1.0);
        assert_eq!(player.row(), 30);
        assert_eq!(player.wanted(), Some(30));
        assert_eq!(player.wanted(), None, "asked once");
        player.advance(5.0);
        assert_eq!((player.row(), player.is_playing), (89, false));
        player.toggle();
        assert_eq!(player.row(), 0, "from the beginning again");
    }

    #[test]
    fn the_handles_never_cross_and_limit_what_is_played() {
        let mut player = Player::default();
        player.follow(Some(&shown(0, 90)));
        player.keep_to(60);
        player.keep_from(75);
        assert_eq!(player.range(), (59, 60));
        player.keep_from(30);
        player.seek(80);
        player.toggle();
        assert_eq!(player.row(), 30);
        player.advance(9.0);
        assert_eq!(player.row(), 59);
        assert!(player.is_trimmed());
        player.keep_all();
        assert!(!player.is_trimmed());
    }

    #[test]
    fn another_episode_begins_anew_and_the_same_goes_on() {
        let mut player = Player::default();
        player.follow(Some(&shown(0, 90)));
        player.seek(50);
        player.follow(Some(&shown(0, 90)));
        assert_eq!(player.row(), 50);
        player.follow(Some(&shown(1, 40)));
        assert_eq!((player.row(), player.range()), (0, (0, 40)));
        player.follow(None);
        assert_eq!((player.row(), player.wanted()), (0, None));
    }

    #[test]
    fn the_cursor_goes_along_with_the_arm() {
        let mut player = Player::default();
        player.follow(Some(&shown(0, 90)));
        player.keep_from(10);
        player.follow_replay(Some(5));
        assert_eq!(player.row(), 15);
        player.seek(40);
        player.follow_replay(Some(5));
        assert_eq!(player.row(), 40, "a hand may look elsewhere");
    }
}
